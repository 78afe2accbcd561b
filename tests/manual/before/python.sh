cp -r "$DATA/tape/heat-2x1" heat.lull
