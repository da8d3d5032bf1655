# shellcheck shell=bash
# ./dev screenshots: makes the pictures of the documentation again, and checks what is said of them.

dev_screenshots() {
  (($# == 0)) || usage_error "screenshots has no options" "./dev screenshots"
  dev_setup
  build_preset release attune live_demo_server many_threads solver numaconnect_sim web_mpi_job crowd touch_pages example_regions p2g_kmeans || exit 1
  local shots
  for shots in screenshots {waits,console,messages,tuning,counters,lines,workspaces,tour}_shots; do
    node "tests/web/$shots.mjs" build/release/bin docs/images || return
  done
}
