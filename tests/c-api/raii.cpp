// What offkit.hpp has beyond the example: bundles and constants, unified memory, local memory, wait lists, exceptions.
//
//   raii FOLDER      with app.syclbin, library.syclbin, and constants.syclbin: scale, with the constant `factor`, 5,
//                    and the device global `offset`
#include <offkit.hpp>

#include <atomic>
#include <cstdlib>
#include <iostream>

#define REQUIRE(condition)                                                                                             \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      std::cerr << "line " << __LINE__ << ": " << #condition << "\n";                                                  \
      std::exit(1);                                                                                                    \
    }                                                                                                                  \
  } while (false)

template <class Work> static void fails(offkit_code code, const char *words, Work work) {
  try {
    work();
  } catch (const offkit::error &error) {
    if (error.code() == code && std::string_view(error.what()).find(words) != std::string_view::npos)
      return;
    std::cerr << error.code() << ": " << error.what() << "\n";
  }
  std::cerr << "expected error " << code << " with " << words << "\n";
  std::exit(1);
}

int main(int argc, char **argv) try {
  REQUIRE(argc == 2);
  const std::string folder = std::string(argv[1]) + "/";
  offkit::runtime runtime;
  REQUIRE(runtime.devices().size() == runtime.device_count());
  fails(OFFKIT_ERROR_NO_DEVICE, "toaster", [&] { runtime.select("toaster"); });
  auto device = runtime.select("cpu");
  offkit::device first(offkit_runtime_device, runtime.get(), std::size_t{0});
  REQUIRE(!first.name().empty() && device.type() == OFFKIT_DEVICE_CPU && device.max_group_size() > 0);
  std::vector<offkit::device> devices;
  devices.push_back(runtime.select("cpu"));
  offkit::context of_many(devices), context(device);
  offkit::queue made(context, device, OFFKIT_QUEUE_OUT_OF_ORDER | OFFKIT_QUEUE_PROFILING);
  auto queue = std::move(made);

  // A reduction in local memory, after a launch that it waits for.
  offkit::registry registry;
  REQUIRE(registry.open(folder + "app.syclbin").image_count() == 2);
  fails(OFFKIT_ERROR_UNRESOLVED, "kernel `reduce` needs", [&] { registry.collect("reduce", device); });
  auto library = registry.open(folder + "library.syclbin");
  auto collection = registry.collect("reduce", device);
  REQUIRE(collection.images().size() == 2 && collection.resolutions().find("combine") != std::string::npos);
  auto reduce = collection.build(context);
  auto saxpy = registry.collect("saxpy", device).build(context);
  REQUIRE(saxpy.name() == "saxpy" && saxpy.signature().find("f32") != std::string::npos);
  // A library that serves those who ask for it, as long as its handle is there.
  offkit::registry asking;
  asking.open(folder + "app.syclbin");
  asking.set_exporter_rule(OFFKIT_EXPORTER_OWN_FIRST);
  {
    auto handle = asking.dlopen(folder + "library.syclbin");
    fails(OFFKIT_ERROR_UNRESOLVED, "serves itself alone", [&] { asking.collect("reduce", device); });
    REQUIRE(asking.collect("reduce", device, {&handle}).images().size() == 2);
    fails(OFFKIT_ERROR_NOT_FOUND, "no kernel `reduce`", [&] { handle.dlsym("reduce", device); });
    REQUIRE(asking.image_count() == 3);
  }
  REQUIRE(asking.image_count() == 2);
  auto app = asking.dlopen(folder + "app.syclbin", OFFKIT_VISIBILITY_GLOBAL);
  fails(OFFKIT_ERROR_UNRESOLVED, "kernel `reduce` needs", [&] { app.dlsym("reduce", device); });
  offkit::buffer<float> ones(context, std::vector<float>(256, 1)), y(context, 256), sums(context, 4);
  auto launched = saxpy.launch(queue, 256, {3.0f, ones, y});
  auto reduced = reduce.launch(queue, offkit::range({256}, {64}), {y, sums, offkit::local{64 * sizeof(float)}},
                               {&launched});
  REQUIRE((sums.read(queue, {&reduced}) == std::vector<float>(4, 192)));
  REQUIRE(launched.status() == OFFKIT_EVENT_COMPLETE && reduced.profile().ended >= reduced.profile().started);
  fails(OFFKIT_ERROR_ARGUMENT, "argument 0", [&] { saxpy.launch(queue, 256, {3.0, ones, y}); });

  // Fills and copies.
  auto filled = y.fill(queue, 5.0f, 0, 256, {&reduced});
  auto copied = y.copy_to(queue, 10, ones, 0, 20, {&filled});
  auto marked = queue.marker({&copied});
  REQUIRE(ones.read(queue, {&marked})[19] == 5 && ones.read(queue)[20] == 1);
  std::atomic<int> status{-1};
  queue.barrier().on_completion([&](offkit_event_status told) { status = told; });
  queue.finish();
  while (status != OFFKIT_EVENT_COMPLETE) {
  }

  // Unified memory.
  offkit::usm<float> shared(context, device, OFFKIT_USM_SHARED, 8), own(context, device, OFFKIT_USM_DEVICE, 8);
  own.write(queue, std::vector<float>(8, 2));
  for (size_t i = 0; i < shared.size(); ++i)
    shared.data()[i] = static_cast<float>(i);
  saxpy.launch(queue, 8, {10.0f, own, shared}).wait();
  REQUIRE(shared.data()[7] == 27 && shared.read(queue)[0] == 20);

  // What is withdrawn is not found any more.
  REQUIRE(registry.image_count() == 3 && registry.image(2).find("library.syclbin!") != std::string::npos);
  registry.withdraw(library);
  REQUIRE(registry.image_count() == 2);
  fails(OFFKIT_ERROR_UNRESOLVED, "kernel `reduce` needs", [&] { registry.collect("reduce", device); });

  // Specialization constants: a default, a value, a file that has it.
  auto bundle = offkit::bundle::open(context, device, folder + "constants.syclbin", OFFKIT_STATE_INPUT);
  auto scaled = [&](const offkit::bundle &input) {
    offkit::buffer<int> numbers(context, std::vector<int>{1, 2, 3});
    input.build().kernel("scale", device).launch(queue, 3, {numbers}).wait();
    return numbers.read(queue)[2];
  };
  REQUIRE(bundle.constant<int>("factor") == 5 && scaled(bundle) == 15);
  REQUIRE(offkit_bundle_constant_count(bundle.get()) == 1);
  REQUIRE(offkit_bundle_constant_name(bundle.get(), 0) == std::string("factor"));
  auto object = bundle.compile();
  bundle.set_constant("factor", 11);
  REQUIRE(bundle.constant<int>("factor") == 11 && object.constant<int>("factor") == 5 && scaled(bundle) == 33);
  fails(OFFKIT_ERROR_INVALID, "has 4 bytes, 8 given", [&] { bundle.set_constant("factor", 11.0); });
  fails(OFFKIT_ERROR_NOT_FOUND, "`factor`", [&] { bundle.set_constant("size", 11); });
  fails(OFFKIT_ERROR_STATE, "not input", [&] { object.set_constant("factor", 11); });
  auto content = bundle.content(OFFKIT_SYCLBIN_V2);
  auto again = offkit::bundle::from_bytes(context, device, "content", content.view(), OFFKIT_STATE_INPUT);
  REQUIRE(scaled(again) == 33 && again.kernel_names() == std::vector<std::string>{"scale"});
  auto linked = offkit::bundle::link({&object}, OFFKIT_LINK_FAST);
  REQUIRE(linked.state() == OFFKIT_STATE_EXECUTABLE && linked.has_kernel("scale"));

  // Device globals.
  REQUIRE(object.device_globals() == std::vector<std::string>{"offset"} && linked.global_size("offset") == 4);
  REQUIRE(linked.global<int>("offset", queue) == 0);
  linked.set_global("offset", queue, 100);
  offkit::buffer<int> numbers(context, std::vector<int>{1, 2, 3});
  linked.kernel("scale", device).launch(queue, 3, {numbers}).wait();
  REQUIRE((numbers.read(queue) == std::vector<int>{105, 110, 115}));
  fails(OFFKIT_ERROR_INVALID, "8 bytes at 0", [&] { linked.set_global("offset", queue, 1.0); });
  fails(OFFKIT_ERROR_NOT_FOUND, "`offset`", [&] { linked.set_global("onset", queue, 1); });
  fails(OFFKIT_ERROR_STATE, "not executable", [&] { object.set_global("offset", queue, 1); });

  auto all = offkit::bundle::of_registry(context, device, registry, OFFKIT_STATE_INPUT);
  REQUIRE(offkit::bundle::join({&all, &bundle}).has_kernel("scale") && !all.has_kernel("scale"));
  queue.finish();
  std::cout << "done\n";
} catch (const offkit::error &error) {
  std::cerr << error.what() << "\n";
  return 1;
}
