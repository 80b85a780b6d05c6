// A kernel that calls a function of another module.
float scale(float a, float x);

kernel void saxpy(float a, global const float *x, global float *y) {
  size_t i = get_global_id(0);
  y[i] += scale(a, x[i]);
}
