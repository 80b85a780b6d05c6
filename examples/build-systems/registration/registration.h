#pragma once

// How many device images the program and its libraries have registered.
int registered_images();
