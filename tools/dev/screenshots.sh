# shellcheck shell=bash
# ./dev screenshots: makes the pictures of the documentation again, and checks what is said of them.

dev_screenshots() {
  (($# == 0)) || usage_error "screenshots has no options" "./dev screenshots"
  dev_setup
  build_preset release attune live_demo_server many_threads solver numaconnect_sim web_mpi_job crowd touch_pages example_regions || exit 1
  node tests/web/screenshots.mjs build/release/bin docs/images && node tests/web/waits_shots.mjs build/release/bin docs/images &&
    node tests/web/console_shots.mjs build/release/bin docs/images && node tests/web/messages_shots.mjs build/release/bin docs/images &&
    node tests/web/tuning_shots.mjs build/release/bin docs/images && node tests/web/counters_shots.mjs build/release/bin docs/images &&
    node tests/web/lines_shots.mjs build/release/bin docs/images && node tests/web/workspaces_shots.mjs build/release/bin docs/images
}
