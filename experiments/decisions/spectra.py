"""How far the conditioning of mnist's Fourier features depends on how they are made.

The ratio of the second to the thousandth singular value, the least-squares paper's stand-in for a
condition number (Figure 1b: 72,000), of 3,000 features of 20,000 images, by the kernel's width in
medians of the distances, with the paper's 50 principal components and without.

    python -m experiments.decisions.spectra
"""

from __future__ import annotations

import numpy as np

from multiplane.datasets import load_mnist
from multiplane.features import RandomFourier

from ..ls.figure1b.run import singular_values

WIDTHS = (0.5, 1.0, 2.0, 3.0, 5.0)


def main() -> None:
    X = load_mnist(return_X_y=True)[0][:20_000].astype(np.float64)
    print("components " + "".join(f"{width:>8g}" for width in WIDTHS) + "  medians")
    for n_components in (50, None):
        ratios = []
        for width in WIDTHS:
            fourier = RandomFourier(
                3000, width=f"{width}*median", n_components=n_components, random_state=0
            )
            found = singular_values(fourier.fit_transform(X), 1000)
            ratios.append(found[1] / found[-1])
        print(f"{n_components or 'all':10} " + "".join(f"{ratio:8,.0f}" for ratio in ratios))
        print(f"{'squared':10} " + "".join(f"{ratio**2:8,.0f}" for ratio in ratios), flush=True)


if __name__ == "__main__":
    main()
