"""`linnet learn` as students and teachers use it."""

import csv
import json
from pathlib import Path

import pytest

from linnet.learn import assignments, find
from tests.cli.in_process import call
