"""What kind of problem is letter recognition? Prints the answers and draws out/explore.png."""

from pathlib import Path

from multiplane import explore
from multiplane.datasets import load_letter

X, y, _, _ = load_letter(return_X_y=True)
found = explore(X, y, time_budget=60, random_state=0)
print(found)
Path("out").mkdir(exist_ok=True)
found.plot("out/explore.png")
print("\nPictures: out/explore.png")
