// What a program includes, for the host or a device.
#ifdef __cplusplus
extern "C" {
#endif

// A sine that has lost half of its height after a time of 1 / rate.
double damped(double time, double rate);

// Splits a time into whole periods, which are returned, and the rest.
int periods(double time, double *rest);

#ifdef __cplusplus
}
#endif
