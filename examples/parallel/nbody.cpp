// Bodies that attract each other: a star cluster falls together. Each work-item moves one body; each work-group reads the
// others through local memory.
//
//   offkit c++ -fsycl nbody.cpp -o nbody && ./nbody
//   ./nbody 4096 200        so many bodies, so many steps
#include <offkit/parallel.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <utility>

using namespace offkit::parallel;

struct Vector {
  float x, y, z;
};

struct Body {
  Vector position;
  float mass;
};

constexpr std::size_t tile = 64;
constexpr float time_step = 1.0f / 256;
// Keeps forces finite where two bodies meet.
constexpr float softening = 0.0025f;

// Half a kick, a drift, and, with what the next step begins with, another half a kick: the leapfrog.
void step(queue &queue, std::size_t count, const Body *now, Body *next, Vector *velocity) {
  queue.submit([&](handler &handler) {
    local_accessor<Body> others(range(tile), handler);
    handler.parallel_for<class Step>(nd_range(range(count), range(tile)), [=](nd_item<1> item) {
      const std::size_t i = item.get_global_id(0), own = item.get_local_id(0);
      const Vector here = now[i].position;
      Vector pull{0, 0, 0};
      for (std::size_t first = 0; first < count; first += tile) {
        others[own] = now[first + own];
        group_barrier(item.get_group());
        for (std::size_t j = 0; j < tile; ++j) {
          const Body other = others[j];
          const Vector way{other.position.x - here.x, other.position.y - here.y, other.position.z - here.z};
          const float square = way.x * way.x + way.y * way.y + way.z * way.z + softening;
          const float strength = other.mass / (square * std::sqrt(square));
          pull.x += strength * way.x;
          pull.y += strength * way.y;
          pull.z += strength * way.z;
        }
        group_barrier(item.get_group());
      }
      Vector &speed = velocity[i];
      speed = {speed.x + time_step * pull.x, speed.y + time_step * pull.y, speed.z + time_step * pull.z};
      next[i] = {{here.x + time_step * speed.x, here.y + time_step * speed.y, here.z + time_step * speed.z},
                 now[i].mass};
    });
  });
}

// Kinetic and potential energy. Velocities are those of half a step before, so it is off by little.
double energy(std::size_t count, const Body *bodies, const Vector *velocity) {
  double energy = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Vector v = velocity[i], here = bodies[i].position;
    energy += 0.5 * bodies[i].mass * (double{v.x} * v.x + double{v.y} * v.y + double{v.z} * v.z);
    for (std::size_t j = 0; j < i; ++j) {
      const Vector there = bodies[j].position;
      const double x = there.x - here.x, y = there.y - here.y, z = there.z - here.z;
      energy -= bodies[i].mass * bodies[j].mass / std::sqrt(x * x + y * y + z * z + softening);
    }
  }
  return energy;
}

Vector momentum(std::size_t count, const Body *bodies, const Vector *velocity) {
  Vector sum{0, 0, 0};
  for (std::size_t i = 0; i < count; ++i) {
    sum.x += velocity[i].x * bodies[i].mass;
    sum.y += velocity[i].y * bodies[i].mass;
    sum.z += velocity[i].z * bodies[i].mass;
  }
  return sum;
}

// What physics keeps as it is.
void tell(unsigned long steps, std::size_t count, const Body *bodies, const Vector *velocity) {
  const Vector sum = momentum(count, bodies, velocity);
  std::printf("after %3lu steps: energy %.6f, momentum %.6f %.6f %.6f\n", steps, energy(count, bodies, velocity), sum.x,
              sum.y, sum.z);
}

int main(int count, char **arguments) try {
  const std::size_t wanted = count > 1 ? std::strtoul(arguments[1], nullptr, 10) : 512;
  const std::size_t bodies = (wanted + tile - 1) / tile * tile;
  const unsigned long steps = count > 2 ? std::strtoul(arguments[2], nullptr, 10) : 20;

  queue queue;
  std::printf("%zu bodies on %s\n", bodies, queue.get_device().name().c_str());
  Body *now = malloc_shared<Body>(bodies, queue), *next = malloc_shared<Body>(bodies, queue);
  Vector *velocity = malloc_shared<Vector>(bodies, queue);

  // A ball of bodies that spins.
  std::mt19937 random(1);
  const auto number = [&] { return static_cast<float>(random()) / 2147483648.0f - 1; };
  for (std::size_t i = 0; i < bodies; ++i) {
    Vector at;
    do
      at = {number(), number(), number()};
    while (at.x * at.x + at.y * at.y + at.z * at.z > 1);
    now[i] = {at, 1 / static_cast<float>(bodies)};
    velocity[i] = {-0.5f * at.y, 0.5f * at.x, 0};
  }

  tell(0, bodies, now, velocity);
  for (unsigned long number = 0; number < steps; ++number) {
    step(queue, bodies, now, next, velocity);
    std::swap(now, next);
  }
  queue.wait();
  tell(steps, bodies, now, velocity);
  std::printf("the first body is at %.6f %.6f %.6f\n", now[0].position.x, now[0].position.y, now[0].position.z);
  free(now, queue);
  free(next, queue);
  free(velocity, queue);
} catch (const std::exception &failure) {
  std::fprintf(stderr, "nbody: %s\n", failure.what());
  return 1;
}
