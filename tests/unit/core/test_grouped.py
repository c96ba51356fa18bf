from scirgen.core.grouped import grouped


def test_groups_values_in_the_order_in_which_they_came():
    assert grouped([("b", 1), ("a", 2), ("b", 3)]) == {"b": [1, 3], "a": [2]}
    assert list(grouped([("b", 1), ("a", 2)])) == ["b", "a"]
