"""A curve of many points is drawn with few, and no spike is lost."""

from portal.job_files.metrics.downsampling import downsample


def test_each_stretch_keeps_its_first_lowest_highest_and_last() -> None:
    ys: list[float | None] = [5.0] * 100
    ys[13], ys[17], ys[80] = 1.0, 9.0, 99.0
    xs, kept = downsample((range(100), ys), 2)
    assert len(xs) <= 8
    assert {(13, 1.0), (17, 9.0), (80, 99.0), (0, 5.0), (99, 5.0)} <= set(zip(xs, kept, strict=True))
    assert xs == sorted(xs)


def test_a_value_that_is_no_number_stays_as_one_point() -> None:
    ys: list[float | None] = [1.0] * 50
    ys[20] = None
    xs, kept = downsample((range(50), ys), 1)
    assert (20, None) in list(zip(xs, kept, strict=True))


def test_a_short_curve_stays_and_what_does_not_rise_is_left_out() -> None:
    assert downsample(([1, 2, 2, 1, 3], [1.0, 2.0, 8.0, 9.0, 3.0]), 10) == ([1, 2, 3], [1.0, 2.0, 3.0])
    assert downsample(([], []), 3) == ([], [])
