#pragma once
#include <vector>

// Writes numbers as a NumPy file.
bool save(const char *name, const std::vector<float> &numbers);
