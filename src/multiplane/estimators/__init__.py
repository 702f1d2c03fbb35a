"""The scikit-learn face: validate, translate, delegate."""
