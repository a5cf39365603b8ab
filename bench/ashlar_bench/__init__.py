"""The benchmark runner: measures, keeps raw rows as CSV, and makes tables and charts of them."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))  # page_part
