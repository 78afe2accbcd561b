return {title = "x", points = 8, kernels = {
    {name = "k", T_OL = 1, T_nOL = 1, lines = {{1, 0}, {1, 0}, {1, 0}}, backward = true},
}}
