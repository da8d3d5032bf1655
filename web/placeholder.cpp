// Stands in for the page in builds without npm (ATTUNE_WEB=OFF): the server and its protocol work, there is no page.

#include "live/assets.h"

namespace attune::live {

std::span<const Asset> Assets() {
  static constexpr Asset kAssets[] = {
      {"/index.html", "text/html; charset=utf-8",
       "<!doctype html><html lang=en><meta charset=utf-8><title>attune</title>"
       "<p>This attune was built without its page. Install npm and build with -DATTUNE_WEB=ON.\n",
       false}};
  return kAssets;
}

std::string_view ExportedPage() { return {}; }

}  // namespace attune::live
