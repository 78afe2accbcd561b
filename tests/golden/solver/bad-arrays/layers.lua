return {title = "x", points = 8, kernels = {
    {name = "k", T_OL = 1, T_nOL = 1, reads = {"a"}, layers = {b = {3, 100}}},
}}
