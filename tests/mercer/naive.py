"""Readable versions of one-dimensional features and of their products, to test against."""

import numpy as np

from bochner.mercer.hermite import log_ground, scaled_ratios


def hermite_features(z, gamma, B, n_orders):
    """``f_0, ..., f_{n-1}`` along the last axis: right even where ``f_0`` underflows."""
    z, B = np.broadcast_arrays(np.asarray(z, float), np.asarray(B, float))
    logarithm = log_ground(z, gamma, B) / np.log(2)
    power = np.floor(logarithm)
    ground = np.exp2(logarithm - power)
    steps = scaled_ratios(np.sqrt(2 * gamma * (1 - B * B)) * z, B, n_orders)
    orders = [np.ldexp(ground * g, power.astype(int) + exponent) for g, exponent in steps]
    return np.stack(orders, axis=-1)


def products_of_tables(products, tables):
    """The products of the entries of tables, one per axis, one column after another."""
    columns = []
    for parent, axis, order in zip(products.parents, products.axes, products.orders, strict=True):
        if parent < 0:
            columns.append(np.ones(len(tables[0])))
        else:
            columns.append(columns[parent] * tables[axis][:, order])
    return np.stack(columns, axis=1)


def marginal_features(marginal, x):
    """The eigenfunctions of a marginal at the points `x`."""
    logarithm, ratios = marginal.ratios(x)
    return np.exp(logarithm)[:, None] * ratios
