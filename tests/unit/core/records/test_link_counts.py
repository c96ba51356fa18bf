"""Counts of links by who decided them."""

from __future__ import annotations

from scirgen.core.records import Criteria, Link, count_links


def test_links_are_counted_by_rule_and_model_with_its_criteria() -> None:
    judged = Criteria(methodology="yes", terminology="unclear", results="no")
    links = [
        Link(dataset_id="a", paper_id="p", found_by="folder", used=True),
        Link(dataset_id="a", paper_id="q", found_by="folder", used=True, criteria=judged),
        Link(dataset_id="a", paper_id="r", found_by="folder", used=False, criteria=judged),
    ]
    counted = {"links": 2, "links_by_model": 1, "links_methodology": 1, "links_terminology": 0, "links_results": 0}
    assert count_links(links) == counted
    assert count_links(links[:1]) == {"links": 1, "links_by_model": 0}


def test_links_of_papers_to_records_made_from_them_are_counted() -> None:
    links = [Link(dataset_id="a", paper_id="p", found_by="own, doi_in_text", used=True)]
    assert count_links(links) == {"links": 1, "links_by_model": 0, "links_own": 1}
