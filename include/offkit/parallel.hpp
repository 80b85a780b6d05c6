// offkit/parallel.hpp: kernels in C++, as lambdas, in the file that launches them.
//
//   #include <offkit/parallel.hpp>
//   using namespace offkit::parallel;
//
//   queue queue;
//   float *x = malloc_shared<float>(n, queue), *y = malloc_shared<float>(n, queue);
//   …
//   queue.parallel_for<class Saxpy>(range(n), [=](id<1> i) { y[i] += a * x[i]; });
//   queue.wait();
//
// `offkit c++ -fsycl app.cpp -o app && ./app` is all it takes: clang's SYCL device mode compiles the kernels, the program
// has them inside, and liboffkit launches them. Names are SYCL's where they mean the same; docs/parallel.md says which
// part of SYCL 2020 there is. This is no implementation of SYCL.
#ifndef OFFKIT_PARALLEL_HPP
#define OFFKIT_PARALLEL_HPP

#include <offkit/parallel/atomic.hpp>
#include <offkit/parallel/functions.hpp>
#include <offkit/parallel/group.hpp>
#include <offkit/parallel/index.hpp>
#include <offkit/parallel/kernel.hpp>
#include <offkit/parallel/memory.hpp>
#include <offkit/parallel/queue.hpp>
#include <offkit/parallel/reduction.hpp>

#endif
