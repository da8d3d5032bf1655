#include "sensor/declared/declared.h"

#include <utility>

#include "base/user_file.h"
#include "sensor/declared/file_sensor.h"
#include "sensor/declared/register_sensor.h"

namespace attune::sensor {
namespace {

constexpr size_t kMaxFileBytes = 4 << 20;

}  // namespace

std::unique_ptr<model::Sensor> MakeDeclared(Description description, std::string where) {
  auto shared = std::make_shared<const Description>(std::move(description));
  if (shared->registers) return std::make_unique<RegisterSensor>(std::move(shared), std::move(where));
  return std::make_unique<FileSensor>(std::move(shared), std::move(where));
}

Result<std::unique_ptr<model::Sensor>> LoadDeclared(const std::string& file, std::string where) {
  ATTUNE_TRY(const std::string text, ReadUserFile(file, kMaxFileBytes));
  ATTUNE_TRY(Description description, ParseDescription(text, file));
  return MakeDeclared(std::move(description), std::move(where));
}

}  // namespace attune::sensor
