from tests.support.realdata import realdata as realdata
