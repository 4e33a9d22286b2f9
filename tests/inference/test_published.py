"""Classic data sets against published results, as printed in books and in the documentation of R and statsmodels.

R takes its standard errors from the last step but one, which may show in the last digit printed.

The data lie in shared/data beside the repository, or where LINNET_DATA says.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from statsmodels.datasets import longley

import linnet
from linnet.inference.glm import Inference

DATA = Path(os.environ.get("LINNET_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))


Fit = Callable[..., Inference]


def read(name: str) -> pd.DataFrame:
    path = DATA / name / f"{name}.csv.gz"
    if not path.exists():
        pytest.skip(f"{name} is not in {DATA}: set LINNET_DATA to the folder of data sets")
    return pd.read_csv(path)


@dataclass
class Published:
    """What to fit, and what was printed: lines of name, coefficient, standard error, and other numbers by name."""

    fit: Callable[[], Inference]
    table: str
    others: dict[str, str] = field(default_factory=dict)


def assert_printed(value: float, text: str, what: str) -> None:
    """The number is that of the text, but for a unit of its last digit."""
    digits = len(text.partition("e")[0].partition(".")[2])
    unit = 10.0 ** (int(text.partition("e")[2] or 0) - digits)
    assert value == pytest.approx(float(text), rel=0, abs=1.5 * unit), what


def infer(model: Any, X: Any, y: Any, *, covariance: str = "model", **options: Any) -> Inference:
    inference = model.fit(X, y, **options).inference(X, y, covariance=covariance, **options)
    assert isinstance(inference, Inference)
    return inference


def poisson(X: Any, y: Any, **options: Any) -> Inference:
    return infer(linnet.PoissonRegressor(alpha=0), X, y, **options)


def negative_binomial(X: Any, y: Any, **options: Any) -> Inference:
    return infer(linnet.NegativeBinomialRegressor(alpha=0), X, y, **options)


def logistic(X: Any, y: Any, **options: Any) -> Inference:
    return infer(linnet.LogisticRegression(C=np.inf), X, y, **options)


def crabs() -> Inference:
    data = read("crab_satellites")
    return poisson(data[["width"]], data["satellites"])


def crabs_with_satellites(*columns: str) -> Inference:
    data = read("crab_satellites")
    return logistic(data[[*columns]], data["satellites"] > 0)


def quine(fit: Fit = poisson) -> Inference:
    data = read("quine")
    return fit(data.drop(columns="Days"), data["Days"])


def ships() -> Inference:
    data = read("ships")
    data = data[data["service"] > 0].astype({"year": str, "period": str})
    return poisson(data[["type", "year", "period"]], data["incidents"], exposure=data["service"])


def biochemists(fit: Fit = poisson) -> Inference:
    data = read("biochemists")
    data["mar"] = pd.Categorical(data["mar"], ["Single", "Married"])
    return fit(data.drop(columns="art"), data["art"])


def elderly(covariance: str, fit: Fit = poisson) -> Inference:
    data = read("nmes1988")
    columns = ["hospital", "health", "chronic", "gender", "school", "insurance"]
    return fit(data[columns], data["visits"], covariance=covariance)


def doctor_visits() -> Inference:
    data = read("doctor_visits")
    data["gender"] = pd.Categorical(data["gender"], ["male", "female"])
    return poisson(data.drop(columns="visits").assign(age2=data["age"] ** 2), data["visits"])


def medpar() -> Inference:
    data = read("medpar")
    return poisson(data[["hmo", "white", "type2", "type3"]], data["los"])


def affairs() -> Inference:
    data = read("fair_affairs")
    return logistic(data.drop(columns="affairs"), data["affairs"] > 0)


def star98() -> Inference:
    """Pupils above the median and below it, counted by school district."""
    data = read("star98")
    above, all_pupils = data.pop("PR50M"), data.pop("MATHTOT")
    both = pd.concat([data, data], ignore_index=True)
    counts = np.concatenate([above, all_pupils - above])
    return logistic(both, np.repeat([1, 0], len(data)), sample_weight=counts)


def wages() -> Inference:
    data = read("cps1988")
    table = data[["experience", "education", "ethnicity"]].assign(experience2=data["experience"] ** 2)
    table["ethnicity"] = pd.Categorical(table["ethnicity"], ["cauc", "afam"])
    return infer(linnet.LinearRegression(), table, np.log(data["wage"]))


def longley_data() -> Inference:
    data = longley.load_pandas()
    return infer(linnet.LinearRegression(), data.exog, data.endog)


PUBLISHED = {
    "crabs, Agresti: Categorical Data Analysis, chapter 4": Published(
        crabs,
        """intercept -3.30476 0.54224
        width 0.16405 0.01997""",
        {"null_deviance": "632.79", "deviance": "567.88", "df_residual": "171", "aic": "927.18"},
    ),
    "crabs with satellites, Agresti, chapter 5": Published(
        lambda: crabs_with_satellites("width"),
        """intercept -12.3508 2.6287
        width 0.4972 0.1017""",
        {"null_deviance": "225.76", "deviance": "194.45", "aic": "198.45"},
    ),
    "crabs of four colours, Agresti, chapter 5": Published(
        lambda: crabs_with_satellites("color", "width"),
        """intercept -12.715 2.762
        color=darkmedium 1.106 0.592
        color=lightmedium 1.330 0.853
        color=medium 1.402 0.548
        width 0.468 0.106""",
        {"deviance": "187.46", "df_residual": "168"},
    ),
    "quine, Venables and Ripley: MASS": Published(
        quine,
        """intercept 2.71538 0.06468
        Eth=N -0.53360 0.04188
        Sex=M 0.16160 0.04253
        Age=F1 -0.33390 0.07009
        Age=F2 0.25783 0.06242
        Age=F3 0.42769 0.06769
        Lrn=SL 0.34894 0.05204""",
        {"null_deviance": "2073.5", "deviance": "1696.7", "df_residual": "139", "aic": "2299.2"},
    ),
    "ships, McCullagh and Nelder: Generalized Linear Models, section 6.3.2; MASS": Published(
        ships,
        """intercept -6.40590 0.21744
        type=B -0.54334 0.17759
        type=C -0.68740 0.32904
        type=D -0.07596 0.29058
        type=E 0.32558 0.23588
        year=65 0.69714 0.14964
        year=70 0.81843 0.16977
        year=75 0.45343 0.23317
        period=75 0.38447 0.11827""",
        {"null_deviance": "146.328", "deviance": "38.695", "df_residual": "25", "aic": "154.56"},
    ),
    "biochemists, Long (1997), chapter 8; pscl": Published(
        biochemists,
        """intercept 0.304617 0.102981
        fem=Women -0.224594 0.054613
        mar=Married 0.155243 0.061374
        kid5 -0.184883 0.040127
        phd 0.012823 0.026397
        ment 0.025543 0.002006""",
        {"deviance": "1634.4", "df_residual": "909", "aic": "3314.1"},
    ),
    "visits of the elderly, Zeileis, Kleiber and Jackman (2008): Regression Models for Count Data in R": Published(
        lambda: elderly("model"),
        """intercept 1.028874 0.023785
        hospital 0.164797 0.005997
        health=poor 0.248307 0.017845
        health=excellent -0.361993 0.030304
        chronic 0.146639 0.004580
        gender=male -0.112320 0.012945
        school 0.026143 0.001843
        insurance=yes 0.201687 0.016860""",
        {"df_model": "8"},
    ),
    "visits of the elderly, sandwich errors, the same": Published(
        lambda: elderly("HC0"),
        """intercept 1.028874 0.064530
        hospital 0.164797 0.021945
        health=poor 0.248307 0.054022
        health=excellent -0.361993 0.077449
        chronic 0.146639 0.012908
        gender=male -0.112320 0.035343
        school 0.026143 0.005084
        insurance=yes 0.201687 0.043128""",
    ),
    "quine, glm.nb of R's MASS": Published(
        lambda: quine(negative_binomial),
        """intercept 2.89458 0.22842
        Eth=N -0.56937 0.15333
        Sex=M 0.08232 0.15992
        Age=F1 -0.44843 0.23975
        Age=F2 0.08808 0.23619
        Age=F3 0.35690 0.24832
        Lrn=SL 0.29211 0.18647""",
        {"theta": "1.275", "null_deviance": "195.29", "deviance": "167.95", "aic": "1109.2"},
    ),
    "biochemists, glm.nb of R's MASS": Published(
        lambda: biochemists(negative_binomial),
        """intercept 0.256144 0.137348
        fem=Women -0.216418 0.072636
        mar=Married 0.150489 0.082097
        kid5 -0.176415 0.052813
        phd 0.015271 0.035873
        ment 0.029082 0.003214""",
        {"theta": "2.264", "null_deviance": "1109.0", "deviance": "1004.3", "aic": "3135.9"},
    ),
    "visits of the elderly, glm.nb of R's MASS: Zeileis, Kleiber and Jackman (2008)": Published(
        lambda: elderly("model", negative_binomial),
        """intercept 0.929257 0.054591
        hospital 0.217772 0.020176
        health=poor 0.305013 0.048511
        health=excellent -0.341807 0.060924
        chronic 0.174916 0.012092
        gender=male -0.126488 0.031216
        school 0.026815 0.004394
        insurance=yes 0.224402 0.039464""",
        {"theta": "1.2066", "log_likelihood": "-12170.6"},
    ),
    "doctor visits, Cameron and Trivedi: Regression Analysis of Count Data, chapter 3; AER": Published(
        doctor_visits,
        """intercept -2.224 0.190
        gender=female 0.157 0.056
        age 1.056 1.001
        age2 -0.849 1.078
        income -0.205 0.088
        private=yes 0.123 0.072
        freepoor=yes -0.440 0.180
        freerepat=yes 0.080 0.092
        illness 0.187 0.018
        reduced 0.127 0.005
        health 0.030 0.010
        nchronic=yes 0.114 0.067
        lchronic=yes 0.141 0.083""",
        {"log_likelihood": "-3355.5"},
    ),
    "hospital stays, Hilbe: Negative Binomial Regression; COUNT": Published(
        medpar,
        """intercept 2.332933 0.0272082
        hmo -0.0715493 0.023944
        white -0.153871 0.0274128
        type2 0.2216518 0.0210519
        type3 0.7094767 0.026136""",
        {"deviance": "8142.666", "log_likelihood": "-6928.908"},
    ),
    "affairs, Fair (1978); statsmodels: Discrete Choice Models": Published(
        affairs,
        """intercept 3.7257 0.299
        occupation 0.1602 0.034
        educ -0.0392 0.015
        occupation_husb 0.0124 0.023
        rate_marriage -0.7161 0.031
        age -0.0605 0.010
        yrs_married 0.1100 0.011
        children -0.0042 0.032
        religious -0.3752 0.035""",
        {"log_likelihood": "-3471.5"},
    ),
    "star98, Gill (2000); statsmodels: Generalized Linear Models": Published(
        star98,
        """intercept 2.9589 1.547
        LOWINC -0.0168 4.34e-04
        PERASIAN 0.0099 0.001
        PERBLACK -0.0187 0.001
        PERHISP -0.0142 0.000
        PERMINTE 0.2545 0.030
        AVYRSEXP 0.2407 0.057
        AVSALK 0.0804 0.014
        PERSPENK -1.9522 0.317
        PTRATIO -0.3341 0.061
        PCTAF -0.1690 0.033
        PCTCHRT 0.0049 0.001
        PCTYRRND -0.0036 0.000
        PERMINTE_AVYRSEXP -0.0141 0.002
        PERMINTE_AVSAL -0.0040 0.000
        AVYRSEXP_AVSAL -0.0039 0.001
        PERSPEN_PTRATIO 0.0917 0.015
        PERSPEN_PCTAF 0.0490 0.007
        PTRATIO_PCTAF 0.0080 0.001
        PERMINTE_AVYRSEXP_AVSAL 0.0002 2.99e-05
        PERSPEN_PTRATIO_PCTAF -0.0022 0.000""",
    ),
    "wages, Kleiber and Zeileis: Applied Econometrics with R, chapter 3; AER": Published(
        wages,
        """intercept 4.321395 0.019174
        experience 0.077473 0.000880
        experience2 -0.001316 0.000019
        education 0.085673 0.001272
        ethnicity=afam -0.243364 0.012918""",
        {"df_residual": "28150"},
    ),
    "longley, certified by NIST": Published(
        longley_data,
        """intercept -3482258.63459582 890420.383607373
        GNPDEFL 15.0618722713733 84.9149257747669
        GNP -0.358191792925910e-01 0.334910077722432e-01
        UNEMP -2.02022980381683 0.488399681651699
        ARMED -1.03322686717359 0.214274163161675
        POP -0.511041056535807e-01 0.226073200069370
        YEAR 1829.15146461355 455.478499142212""",
    ),
}


@pytest.mark.parametrize("case", PUBLISHED)
def test_published_results(case: str) -> None:
    known = PUBLISHED[case]
    inference = known.fit()
    found = inference.to_frame()[["coef", "std err"]].dropna()
    lines = [line.split() for line in known.table.splitlines()]
    assert sorted(name for name, _, _ in lines) == sorted(found.index)
    for name, coef, error in lines:
        if "longley" in case:  # fifteen digits are printed, of columns that nearly depend on each other
            np.testing.assert_allclose(found.loc[name], [float(coef), float(error)], rtol=1e-9)
            continue
        assert_printed(found.loc[name, "coef"], coef, name)
        assert_printed(found.loc[name, "std err"], error, f"standard error of {name}")
    for name, text in known.others.items():
        value = 1 / inference.head.parameter if name == "theta" else getattr(inference, name)
        assert_printed(value, text, name)


def test_the_dispersion_of_ship_damage() -> None:
    """Pearson's statistic over its degrees of freedom is 1.69: McCullagh and Nelder, section 6.3.2."""
    data = read("ships")
    data = data[data["service"] > 0].astype({"year": str, "period": str})
    table, y = data[["type", "year", "period"]], data["incidents"]
    model = linnet.PoissonRegressor(alpha=0).fit(table, y, exposure=data["service"])
    mean = model.predict(table, exposure=data["service"])
    assert_printed(float(((y - mean) ** 2 / mean).sum()) / 25, "1.69", "dispersion")


def test_the_likelihood_ratio_of_crab_colours() -> None:
    """Colour adds 7.0 with 3 degrees of freedom to the model with width: Agresti, chapter 5."""
    statistic, freedom, p = crabs_with_satellites("color", "width").likelihood_ratio_test(
        crabs_with_satellites("width")
    )
    assert_printed(statistic, "7.0", "statistic")
    assert freedom == 3
    assert_printed(p, "0.07", "p")
