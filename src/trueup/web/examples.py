"""Examples to load on the page, each with where it comes from."""

from __future__ import annotations

from typing import Any

PECULIAR: dict[str, Any] = {
    "name": "The Peculiar Example",
    "about": (
        "Ten companies were audited; of the 100 companies to classify, 10 are predicted to be a "
        "webshop. Inverting the error rates gives −75 webshops."
    ),
    "source": (
        "Meertens, Diks, van den Herik and Takes (2019), A Bayesian approach for accurate "
        "classification-based aggregates, SDM."
    ),
    "classes": ["webshop", "other"],
    "test": [[4, 1], [2, 3]],
    "predicted_counts": [10, 90],
    "design": "shifted",
}

WEBSHOPS: dict[str, Any] = {
    "name": "Turnover of webshops",
    "about": (
        "18,939 companies with their turnover in euro, 50 of them audited at random: the data of "
        "“trueup demo”, made to have the moments of the paper’s tax returns. The truth is "
        "520 million for the webshops."
    ),
    "source": "trueup demo, after Meertens et al. (2019), section 5.",
    "classes": ["webshop", "other"],
    "test": [[3, 0], [2, 45]],
    "predicted_counts": [2214, 16725],
    "predicted_sums": [663441409, 4286558591],
    "predicted_squares": [7420351548311798, 70474385295975050],
    "design": "random",
}

LAND_COVER: dict[str, Any] = {
    "name": "Land cover, 15 classes",
    "about": (
        "Hectares of a mapped country; 50 reference points in each class of the map. A made-up "
        "matrix, shaped like those of national maps."
    ),
    "source": (
        "Made up for this page. The design is that of Olofsson et al. (2014), Good practices for "
        "estimating area and assessing accuracy of land change, Remote Sensing of Environment 148."
    ),
    "classes": [
        "open water", "wetland", "broadleaf forest", "conifer forest", "mixed forest", "shrub",
        "natural grass", "pasture", "arable", "orchard", "greenhouse", "dense built-up",
        "open built-up", "road and rail", "bare soil",
    ],
    "test": [
        [47, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        [2, 39, 0, 0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 1, 0],
        [0, 5, 38, 0, 4, 5, 0, 0, 0, 0, 0, 0, 0, 1, 0],
        [0, 0, 0, 47, 5, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0],
        [0, 0, 7, 2, 36, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        [0, 1, 5, 1, 5, 35, 7, 0, 0, 10, 0, 0, 0, 0, 0],
        [0, 5, 0, 0, 0, 7, 32, 2, 0, 2, 0, 0, 0, 0, 7],
        [0, 0, 0, 0, 0, 0, 4, 40, 1, 8, 0, 0, 10, 0, 0],
        [0, 0, 0, 0, 0, 0, 0, 6, 46, 5, 0, 0, 0, 0, 6],
        [0, 0, 0, 0, 0, 0, 0, 0, 1, 24, 0, 0, 0, 1, 0],
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 47, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 3, 42, 4, 6, 9],
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6, 35, 2, 0],
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 34, 0],
        [1, 0, 0, 0, 0, 0, 5, 0, 1, 0, 0, 0, 0, 5, 28],
    ],
    "predicted_counts": [
        253155, 95453, 473106, 406705, 174301, 120351, 249003, 900559, 937907, 33203, 20757,
        128659, 190906, 107901, 58101,
    ],
    "design": "by_prediction",
}  # fmt: skip

SEROPREVALENCE: dict[str, Any] = {
    "name": "Seroprevalence, Santa Clara 2020",
    "about": (
        "50 of 3,330 people tested positive for antibodies in April 2020. The test itself was "
        "tried on 157 known positive and 3,324 known negative samples from elsewhere: 130 and "
        "3,308 came out right. How many of the 3,330 had antibodies?"
    ),
    "source": (
        "Bendavid et al. (2021), International Journal of Epidemiology 50, "
        "doi 10.1093/ije/dyab010; pooled test-kit figures as in Gelman and Carpenter (2020), "
        "Applied Statistics 69, "
        "doi 10.1111/rssc.12435. Without the survey's weights."
    ),
    "classes": ["antibodies", "none"],
    "test": [[130, 27], [16, 3308]],
    "predicted_counts": [50, 3280],
    "design": "shifted",
}

EXAMPLES = [PECULIAR, WEBSHOPS, LAND_COVER, SEROPREVALENCE]
