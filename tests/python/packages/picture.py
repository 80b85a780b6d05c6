"""A plugin of pytest: tests of silx ask `scipy.datasets` for a picture, which that fetches. Any picture will do, but for one test
that compares key points one by one: with some it fails on every driver."""

try:
    import numpy
    import scipy.datasets
    from scipy.ndimage import gaussian_filter
except ImportError:
    pass
else:

    def ascent():
        random = numpy.random.RandomState(7)
        fine, coarse = random.rand(512, 512), random.rand(512, 512)
        picture = gaussian_filter(fine, 3) + 0.3 * gaussian_filter(coarse, 12)
        picture[100:220, 150:300] += 0.2
        picture[300:360, 40:400] -= 0.15
        picture -= picture.min()
        return (picture / picture.max() * 255).astype(numpy.uint8)

    scipy.datasets.ascent = ascent
