"""Evaluation: counts, rates, averages over classes, thresholds."""

import numpy as np

from linnet.learn.assignment import Assignment, Mistake, Part
from linnet.learn.course.samples import normal

_T = np.arange(60) % 3
_PREDICTED = (_T + (normal(60) > 0.8) + (normal(60, seed=1) > 1)) % 3
_C = np.array([[50, 3, 2, 0], [4, 20, 1, 1], [6, 2, 10, 0], [1, 1, 1, 7]])
_Y = (normal(40, seed=2) > 0.3).astype(int)
_SCORE = np.round(_Y + normal(40, seed=3), 1)

_CONFUSION = Assignment(
    name="confusion-matrix",
    title="Counts of right and wrong predictions, and the rates computed from them",
    plain="confusion",
    write={"confusion_matrix": (), "precision": (), "recall": (), "f_beta": ()},
    task="""C[i, j] is the number of rows of class i that were predicted as class j. Precision is the share of the rows
    predicted positive that are positive; recall is the share of the positive rows that are found. F_beta is their
    harmonic mean in which recall counts beta times as much, written with counts: (1 + beta^2) TP / (TP + FP + beta^2
    (TP + FN)).""",
    run="""
        x, t = data.tumours()
        predicted = (x[:, 0] > 0).astype(int)  # a large radius
        C = confusion_matrix(t, predicted, 2)
        print(C)
        (TN, FP), (FN, TP) = C
        print(f"precision {precision(TP, FP):.3f}, recall {recall(TP, FN):.3f}, F1 {f_beta(TP, FP, FN):.3f}")
    """,
    imports=("from linnet.learn import data",),
    parts=(
        Part("confusion_matrix", "60 rows of 3 classes", lambda program: program.confusion_matrix(_T, _PREDICTED, 3)),
        Part("precision", "TP = 30, FP = 10", lambda program: program.precision(30, 10)),
        Part("recall", "TP = 30, FN = 20", lambda program: program.recall(30, 20)),
        Part("f_beta", "F1", lambda program: program.f_beta(30, 10, 20)),
        Part(
            "f_beta", "F2 and F0.5", lambda program: [program.f_beta(30, 10, 20, 2.0), program.f_beta(30, 10, 20, 0.5)]
        ),
        Part("f_beta", "no positive row is found", lambda program: program.f_beta(0, 0, 20)),
    ),
    mistakes=(
        Mistake({"C[i, j] += 1": "C[j, i] += 1"}, "rows and columns are swapped: C[actual, predicted]."),
        Mistake(
            {"return TP / (TP + FP)": "return TP / (TP + FP) * 100"},
            "this is a percentage: a share is between 0 and 1.",
        ),
        Mistake(
            {"return TP / (TP + FN)": "return TP / FN"},
            "these are the odds: recall is the share found of all positive rows, TP + FN.",
        ),
        Mistake(
            {
                "return (1 + beta**2) * TP / (TP + FP + beta**2 * (TP + FN))": "return (TP / (TP + FP) + TP / (TP + "
                "FN)) / 2"
            },
            "this is the arithmetic mean of precision and recall: the harmonic mean is near the smaller of the two.",
        ),
        Mistake(
            {
                "return (1 + beta**2) * TP / (TP + FP + beta**2 * (TP + FN))": "return (1 + beta) * TP / (TP + FP + "
                "beta * (TP + FN))"
            },
            "beta is not squared: beta^2.",
        ),
        Mistake(
            {
                "return (1 + beta**2) * TP / (TP + FP + beta**2 * (TP + FN))": "return (1 + beta**2) * TP / (TP + FN "
                "+ beta**2 * (TP + FP))"
            },
            "beta is on the wrong side: recall, with TP + FN, counts beta times as much, not precision.",
        ),
        Mistake(
            {
                "return (1 + beta**2) * TP / (TP + FP + beta**2 * (TP + FN))": "P, R = np.float64(TP) / (TP + FP), "
                "np.float64(TP) / (TP + FN)\n"
                "    return (1 + beta**2) * P * R / "
                "(beta**2 * P + R)"
            },
            "precision has no value where nothing is predicted positive, 0 / 0: written with counts, F_beta is 0 "
            "there.",
        ),
    ),
    hints=(
        "np.zeros((K, K), int), then for i, j in zip(t, predicted): C[i, j] += 1.",
        "The formula of F_beta with counts is in the text at the top.",
    ),
    page="metrics",
)

_MICRO = Assignment(
    name="micro-and-macro",
    title="Several kinds of positives: micro and macro averages",
    plain="confusion",
    write={"counts": (), "micro_f": (), "macro_f": ()},
    given=("f_beta",),
    task="""One class is negative ("nothing"), the others are kinds of positives, such as names of people and places
    in a text. For each kind count TP, FP and FN against all other classes. The micro average adds up the counts
    first, so that each row counts alike; the macro average is the mean of the kinds' F_beta, so that each kind counts
    alike.""",
    run="""
        C = np.array([[900, 10, 5], [20, 60, 0], [15, 0, 5]])  # class 0 is "nothing"
        print("micro:", micro_f(C, [1, 2]), "macro:", macro_f(C, [1, 2]), "- rare kinds count more in the macro one")
    """,
    parts=(
        Part("counts", "two kinds of positives, class 0 and 3 left out", lambda program: program.counts(_C, [1, 2])),
        Part("counts", "all classes", lambda program: program.counts(_C, [0, 1, 2, 3])),
        Part("micro_f", "three kinds of positives", lambda program: program.micro_f(_C, [1, 2, 3])),
        Part("micro_f", "all classes: the accuracy", lambda program: program.micro_f(_C, [0, 1, 2, 3])),
        Part("macro_f", "three kinds of positives", lambda program: program.macro_f(_C, [1, 2, 3])),
        Part("macro_f", "F2", lambda program: program.macro_f(_C, [1, 2, 3], 2.0)),
    ),
    mistakes=(
        Mistake(
            {
                "C.sum(axis=0)[positives] - TP, C.sum(axis=1)[positives] - TP": "C.sum(axis=1)[positives] - TP, "
                "C.sum(axis=0)[positives] - TP"
            },
            "FP and FN are swapped: FP is the rest of the column (other rows predicted as this class), FN the rest "
            "of the row.",
        ),
        Mistake(
            {
                "C.sum(axis=0)[positives] - TP, C.sum(axis=1)[positives] - TP": "C.sum(axis=0)[positives], "
                "C.sum(axis=1)[positives]"
            },
            "the sums include TP: subtract it.",
        ),
        Mistake(
            {
                "return TP, C.sum(axis=0)[positives] - TP, C.sum(axis=1)[positives] - TP": "C = C[np.ix_(positives, "
                "positives)]\n    return TP, C.sum(axis=0) - TP, C.sum(axis=1) - TP"
            },
            "errors that involve the negative class are not counted: a positive row that was predicted as nothing "
            "is a miss, too.",
        ),
        Mistake(
            {
                "return float(f_beta(TP.sum(), FP.sum(), FN.sum(), beta))": "return float(f_beta(TP, FP, FN, "
                "beta).mean())"
            },
            "this is the macro average: add up the counts first.",
        ),
        Mistake(
            {
                "return float(f_beta(*counts(C, positives), beta).mean())": "return float(f_beta(*counts(C, "
                "positives)).mean())"
            },
            "beta is not used.",
        ),
        Mistake(
            {"return float(f_beta(*counts(C, positives), beta).mean())": "return micro_f(C, positives, beta)"},
            "this is the micro average: take F_beta of each class, then the mean.",
        ),
    ),
    hints=(
        "C.diagonal()[positives] is the TP of each kind; C.sum(axis=0) sums the columns, C.sum(axis=1) the rows.",
        "TP, FP, FN = counts(C, positives) are arrays, with a number for each kind.",
    ),
    page="metrics",
)

_THRESHOLDS = Assignment(
    name="thresholds",
    title="From scores to decisions: the precision-recall curve and the best threshold",
    plain="threshold",
    write={"counts": (), "precision_recall_curve": (), "average_precision": (), "best_threshold": ()},
    task="""A row is predicted positive where its score reaches the threshold (>=). Each distinct score is a threshold
    worth trying, from the highest down. The area under the curve is the sum of (R_i - R_{i-1}) P_i, with R_0 = 0. The
    best threshold has the highest F_beta; of several, the highest one. Choose it on development rows: on training rows,
    scores look too good.""",
    run="""
        x, t, dev_x, dev_t = data.split(*data.tumours())
        w, b = (x[t == 1].mean(axis=0) - x[t == 0].mean(axis=0)), 0.0
        threshold, F = best_threshold(dev_t, dev_x @ w)
        print(f"threshold {threshold:.2f}: F1 {F:.3f}; area {average_precision(dev_t, dev_x @ w):.3f}")
    """,
    imports=("from linnet.learn import data",),
    parts=(
        Part("counts", "40 rows at the threshold 0.5", lambda program: program.counts(_Y, _SCORE, 0.5)),
        Part("counts", "a threshold that is a score", lambda program: program.counts(_Y, _SCORE, float(_SCORE[3]))),
        Part(
            "precision_recall_curve",
            "the curve for 40 rows",
            lambda program: program.precision_recall_curve(_Y, _SCORE),
        ),
        Part(
            "average_precision",
            "the area for 3 rows, of which the highest score is positive",
            lambda program: program.average_precision(np.array([1, 0, 1]), np.array([3.0, 2, 1])),
        ),
        Part("average_precision", "the area for 40 rows", lambda program: program.average_precision(_Y, _SCORE)),
        Part("best_threshold", "the best F1", lambda program: program.best_threshold(_Y, _SCORE)),
        Part(
            "best_threshold",
            "the best F2 and F0.5",
            lambda program: [program.best_threshold(_Y, _SCORE, 2.0), program.best_threshold(_Y, _SCORE, 0.5)],
        ),
        Part(
            "best_threshold",
            "several thresholds that are equally good",
            lambda program: program.best_threshold(np.array([1, 0, 0, 1]), np.array([4.0, 3, 2, 1])),
        ),
    ),
    mistakes=(
        Mistake(
            {"positive = score >= threshold": "positive = score > threshold"},
            "a score equal to the threshold is not counted: >=.",
        ),
        Mistake(
            {"positive = score >= threshold": "positive = score <= threshold"},
            "low scores are taken as positive: it is the high ones that are.",
        ),
        Mistake(
            {
                "int((positive & (t == 0)).sum()), int((~positive & (t == 1)).sum())": (
                    "int((~positive & (t == 1)).sum()), int((positive & (t == 0)).sum())"
                )
            },
            "FP and FN are swapped: FP counts rows that are predicted positive and are not, FN positive rows that "
            "were not found.",
        ),
        Mistake(
            {"    thresholds = np.unique(score)[::-1]\n    found": "    thresholds = np.unique(score)\n    found"},
            "the thresholds go up: take them from the highest down, so that recall grows.",
        ),
        Mistake(
            {"    thresholds = np.unique(score)[::-1]\n    found": "    thresholds = np.sort(score)[::-1]\n    found"},
            "equal scores come up several times: each distinct score is one threshold, np.unique.",
        ),
        Mistake(
            {"(np.diff(R, prepend=0) * P).sum()": "P.mean()"},
            "this is the mean of the precisions: weight each by the recall gained, R_i - R_{i-1}.",
        ),
        Mistake(
            {"(np.diff(R, prepend=0) * P).sum()": "(np.diff(R) * P[1:]).sum()"},
            "the first step is missing: R_0 = 0, so that R_1 P_1 counts, too.",
        ),
        Mistake(
            {"f_beta(*counts(t, score, threshold), beta)": "f_beta(*counts(t, score, threshold))"}, "beta is not used."
        ),
        Mistake(
            {"best = int(np.argmax(F))": "best = len(F) - 1 - int(np.argmax(F[::-1]))"},
            "of several that are equally good, take the highest threshold, which comes first.",
        ),
    ),
    hints=(
        "positive & (t == 1) is True where both are; .sum() counts.",
        "np.unique(score)[::-1] has the distinct scores from the highest down.",
        "np.diff(R, prepend=0) is R_i - R_{i-1}; np.argmax gives the first place of the largest value.",
    ),
    page="metrics",
)

EVALUATION = (_CONFUSION, _MICRO, _THRESHOLDS)
