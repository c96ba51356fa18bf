"""Published retrieval datasets as releases: DataFinder, CSFCube and DORIS-MAE."""
