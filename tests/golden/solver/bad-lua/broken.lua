local a = 1
return {title = 'x', points = 8, kernels = {{name = 'k', T_OL = }}}
