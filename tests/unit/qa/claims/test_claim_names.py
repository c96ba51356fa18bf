from __future__ import annotations

import pytest

from scirgen.claims.names import unnamed

LONG = " ".join(["The wind, locally stable, told us about vapour."] * 60)
"""A text so long that initials in a row are met by chance."""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Sentinel-2", "sentinel 2 images"),
        ("WPL", LONG + " corrections for density (Webb-Pearman-Leuning)"),
        ("UAVs", "unmanned aerial vehicles"),
        ("RMSE", LONG + " the average root mean square error"),
        ("ZY-3", "gaofen-1, gaofen-6 and ziyuan-3"),
        ("Gaofen-1", "GF-1, GF-6 and ZY-3"),
        ("LA-ICP-MS", LONG + " laser ablation-inductively coupled plasma mass spectrometry"),
        ("WRF4", "prepared by the WRFv4.1.1 model"),
        ("Landsat8", "reflectivity of Landsat 8 channels"),
        ("GAN-based", LONG + " Generative Adversarial Network (GAN)"),
        ("Qinghai-Tibet", "from Qinghai to Tibet"),
        ("ArArCALC", "calculated with the software arcalc 2.4"),
        ("NDVI", "the NDVImax of each pixel"),
        ("CO2", "CO2-based and CO 2"),
    ],
)
def test_a_name_in_another_spelling_is_known(name: str, text: str) -> None:
    assert unnamed(f"They used {name} there.", text) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("WUS", LONG),
        ("ZY-3", "gaofen-3 and ziyuan-1"),
        ("Landsat8", "Landsat 7 images"),
        ("Landsat-8", "Landsat 80 images"),
        ("GAN", "organic matter"),
        ("ENSO", "where sensors stood"),
        ("SST", "sstrips of grass"),
        ("LIDAR", "radar"),
        ("WRF4", "four runs of WRF"),
        ("Qinghai-Tibet", "in Qinghai"),
    ],
)
def test_another_name_is_unknown(name: str, text: str) -> None:
    assert unnamed(f"They used {name} there.", text) == [name]
