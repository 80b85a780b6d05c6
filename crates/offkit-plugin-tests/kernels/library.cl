float scale(float a, float x) { return a * x; }
