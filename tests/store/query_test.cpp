#include "store/query.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "sample_data.h"
#include "store/log_writer.h"

namespace attune::store {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using Rows = std::vector<std::vector<std::string>>;

std::string Text(const QueryValue& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value)) return std::to_string(*real);
  if (const auto* text = std::get_if<std::string_view>(&value)) return std::string(*text);
  return "NULL";
}

/// A closed session of 3000 rows and a query over it.
class QueryTest : public testing::Test {
 protected:
  static constexpr int64_t kRows = 3000;

  void SetUp() override {
    auto writer = LogWriter::Create({.path = folder_ / "x.attune"});
    ASSERT_TRUE(writer.ok());
    writer_ = *std::move(writer);
    session_.Feed(*writer_, kRows);
    ASSERT_TRUE(writer_->Flush().ok());
    auto query = Query::Open(*writer_);
    ASSERT_TRUE(query.ok());
    query_ = std::make_unique<Query>(*std::move(query));
  }

  Rows Ask(const std::string& sql) {
    Rows rows;
    QueryVisitor visitor;
    visitor.on_row = [&](std::span<const QueryValue> values) {
      auto& row = rows.emplace_back();
      for (const QueryValue& value : values) row.push_back(Text(value));
      return true;
    };
    const auto summary = query_->Run(sql, visitor);
    EXPECT_TRUE(summary.ok()) << sql << ": " << summary.error().message;
    return rows;
  }
  std::string One(const std::string& sql) {
    const Rows rows = Ask(sql);
    return rows.size() == 1 && rows[0].size() == 1 ? rows[0][0] : "not one cell";
  }
  Error Refused(const std::string& sql) {
    const auto summary = query_->Run(sql, {});
    EXPECT_FALSE(summary.ok()) << sql;
    return summary.ok() ? Error() : summary.error();
  }

  TempFolder folder_;
  SampleSession session_;
  std::unique_ptr<LogWriter> writer_;
  std::unique_ptr<Query> query_;
};

TEST_F(QueryTest, AccountIsComputedOnceByTheOneWhoOpens) {
  int computed = 0;
  auto query = Query::Open(*writer_, [&computed](model::Source&) -> Result<std::vector<AccountRow>> {
    ++computed;
    return std::vector<AccountRow>{{7, 3, "running", 5}, {7, 3, "lock", 6}, {0, 0, "idle", 9}};
  });
  ASSERT_TRUE(query.ok());
  query_ = std::make_unique<Query>(*std::move(query));
  EXPECT_EQ(One("select count(*) from account a join account b on a.state = b.state"), "3");
  EXPECT_THAT(Ask("select thread, process, state, ns from account where ns > 5 order by ns"),
              ElementsAre(ElementsAre("7", "3", "lock", "6"), ElementsAre("NULL", "NULL", "idle", "9")));
  EXPECT_EQ(computed, 1);
}

TEST_F(QueryTest, AccountThatNobodyComputesIsAnError) {
  const auto summary = query_->Run("select * from account", {});
  ASSERT_FALSE(summary.ok());
  EXPECT_THAT(summary.error().message, HasSubstr("not computed here"));
}

TEST_F(QueryTest, HasTheTables) {
  EXPECT_EQ(One("select value from info where key = 'format'"), "attune recording, version 0");
  EXPECT_THAT(Ask("select id, parent, kind, host, os_id, name from elements where kind = 'thread'"),
              ElementsAre(ElementsAre("3", "2", "thread", "host", "4712", "worker")));
  EXPECT_THAT(Ask("select sensor, signal, element, unit, kind, scale from series where id = 5"),
              ElementsAre(ElementsAre("vmstat", "signal4", "1", "pages", "gauge", "-2")));
  EXPECT_THAT(Ask("select stream, \"column\", interval_ns from streams where series = 6"),
              ElementsAre(ElementsAre("1", "5", "1000000")));
  EXPECT_THAT(Ask("select pid, command from processes"), ElementsAre(ElementsAre("4711", "worker --fast")));
  EXPECT_THAT(Ask("select text from labels"), ElementsAre(ElementsAre("begin \"quoted\", with comma")));
  EXPECT_EQ(One("select real_ns - monotonic_ns from clock"), "7");
  EXPECT_EQ(One("select count(*) from samples"), std::to_string(kRows * session_.Columns()));
  EXPECT_EQ(One("select count(*) from events where kind = 'region_begin'"), std::to_string(kRows));
  for (const char* table :
       {"alarms", "gaps", "damage", "findings", "decisions", "sync", "sites", "messages", "collectives"}) {
    EXPECT_EQ(One(std::string("select count(*) from ") + table), "0") << table;
  }
}

TEST_F(QueryTest, HasAlarms) {
  writer_->Consume(std::make_shared<const model::Batch>(model::ToBatch(SampleSession::Alarms())));
  EXPECT_THAT(Ask("select id, state, alarm, severity, element, series, value, threshold, scale, unit, text, advice "
                  "from alarms where t_ns = " +
                  std::to_string(SampleSession::TimeOf(10))),
              ElementsAre(ElementsAre("1", "raised", "storage.space", "warning", "1", "5", "45", "100", "-1", "%",
                                      "4.5 % of / are free", "free some space")));
  EXPECT_THAT(Ask("select id, value from alarms where state = 'cleared'"), ElementsAre(ElementsAre("1", "NULL")));
  EXPECT_EQ(One("select alarm from alarms where id not in (select id from alarms where state = 'cleared')"),
            "memory.full");
}

TEST_F(QueryTest, HasWaitsAndTheirSites) {
  writer_->Consume(std::make_shared<const model::Batch>(model::ToBatch(SampleSession::Syncs())));
  writer_->Consume(std::make_shared<const model::Batch>(model::ToBatch(SampleSession::Sites())));
  const auto both = ElementsAre(ElementsAre("mutex", "101", "4", "6000000", "640", "2", "3", "5"));
  EXPECT_THAT(
      Ask("select kind, sum(count), sum(contended), sum(wait_ns), sum(hold_ns), sum(holds), thread, object from "
          "sync group by site"),
      both);
  ASSERT_TRUE(writer_->Flush().ok());
  EXPECT_THAT(
      Ask("select kind, sum(count), sum(contended), sum(wait_ns), sum(hold_ns), sum(holds), thread, object from "
          "sync group by site"),
      both);
  EXPECT_EQ(One("select count(*) from sync where t_ns > " + std::to_string(SampleSession::TimeOf(10))), "1");
  EXPECT_THAT(Ask("select frame, function, file, line, inlined, module, address, build_id from sites where id = 6"),
              ElementsAre(ElementsAre("0", "take()", "lock.h", "12", "1", "/usr/bin/worker", "4660", "ab12"),
                          ElementsAre("1", "main", "", "NULL", "0", "/usr/bin/worker", "4660", "ab12")));
  EXPECT_EQ(One("select count(*) from sites where id = 5"), "0");
}

TEST_F(QueryTest, HasMessagesAndCollectives) {
  writer_->Consume(std::make_shared<const model::Batch>(model::ToBatch(SampleSession::Messages())));
  writer_->Consume(std::make_shared<const model::Batch>(model::ToBatch(SampleSession::Collectives())));
  for (const bool is_in_file : {false, true}) {
    if (is_in_file) {
      ASSERT_TRUE(writer_->Flush().ok());
    }
    EXPECT_THAT(Ask("select thread, rank, kind, peer, tag, bytes, t_ns - post_ns, t_ns - wait_ns, cpu from messages"),
                ElementsAre(ElementsAre("3", "1", "sent", "2", "7", "4096", "1000000", "1000000", "1"),
                            ElementsAre("3", "1", "received", "2", "0", "8", "19000000", "NULL", "NULL")));
    EXPECT_THAT(Ask("select rank, sequence, root, bytes_sent, bytes_received, t_ns - post_ns, wait_ns, cpu, "
                    "communicator_rank, communicator_size from collectives"),
                ElementsAre(ElementsAre("1", "3", "0", "8", "16", "1000000", "NULL", "0", "1", "4")));
    EXPECT_EQ(One("select count(*) from messages where t_ns > " + std::to_string(SampleSession::TimeOf(10))), "1");
  }
}

TEST_F(QueryTest, NamesAndScalesSamples) {
  // Series 5 is a gauge in hundredths: 400 + row % 17.
  const std::string t_ns = std::to_string(SampleSession::TimeOf(20));
  EXPECT_THAT(Ask("select sensor, element, unit, value from samples_named where signal = 'signal4' and t_ns = " + t_ns),
              ElementsAre(ElementsAre("vmstat", "host", "pages", "4.030000")));
}

TEST_F(QueryTest, ShowsRegionsWithTheirDurations) {
  EXPECT_EQ(One("select count(*) from regions"), std::to_string(kRows));
  EXPECT_THAT(Ask("select process, thread, name, duration_ns, depth from regions order by start_ns limit 1"),
              ElementsAre(ElementsAre("2", "3", "compress", std::to_string(SampleSession::kPeriodNs / 2), "0")));
}

TEST_F(QueryTest, ShowsNullForWhatIsAbsent) {
  EXPECT_EQ(One("select os_id from elements where kind = 'region'"), "NULL");
  EXPECT_EQ(One("select parent from elements where kind = 'machine'"), "NULL");
  EXPECT_EQ(One("select exit_code from processes"), "NULL");
  EXPECT_EQ(One("select count(*) from events where site is not null"), "0");

  model::Batch absent = *session_.Samples(kRows, kRows + 1);
  absent.ints[1][0] = model::kAbsent;
  writer_->Consume(std::make_shared<const model::Batch>(absent));
  EXPECT_EQ(One("select value from samples where series = 1 order by t_ns desc limit 1"), "NULL");
}

/// Conditions that SQLite hands to the tables, and the same ones in a way that it cannot.
TEST_F(QueryTest, ConditionsGiveTheRowsOfAFullScan) {
  const std::string t = std::to_string(SampleSession::TimeOf(1500));
  const std::vector<std::string> operands{t,
                                          t + ".0",
                                          t + ".5",
                                          "'" + t + "'",
                                          "'text'",
                                          "x'00'",
                                          "NULL",
                                          "0",
                                          "-1e300",
                                          "1e300",
                                          "9223372036854775807",
                                          "-9223372036854775808",
                                          std::to_string(SampleSession::TimeOf(0)),
                                          std::to_string(SampleSession::TimeOf(kRows - 1))};
  const std::string count = "select count(*) || ' ' || coalesce(sum(a), 0) from ";
  size_t not_empty = 0;
  for (const char* op : {"=", "<", "<=", ">", ">=", "is", "!="}) {
    for (const std::string& operand : operands) {
      const std::string condition = std::string(op) + " " + operand;
      // The unary plus takes the index away and the type with it: a sub-select gives it back to text.
      const bool is_text = operand[0] == '\'' && operand != "'text'";
      const std::string plain = is_text ? std::string(op) + " " + t : condition;
      const std::string pushed = One(count + "events where t_ns " + condition);
      EXPECT_EQ(pushed, One(count + "events where +t_ns " + plain)) << condition;
      if (!pushed.starts_with("0 ")) ++not_empty;
    }
  }
  EXPECT_GT(not_empty, 30u);
  for (const char* key : {"2", "2.0", "2.5", "'2'", "'two'", "0", "-1", "7", "4294967298", "NULL"}) {
    const std::string plain = std::string(key) == "'2'" ? "2" : key;
    EXPECT_EQ(One(std::string("select count(*) from samples where series = ") + key),
              One("select count(*) from samples where +series = " + plain))
        << key;
    EXPECT_EQ(One(std::string("select count(*) from elements where id = ") + key),
              One("select count(*) from elements where +id = " + plain))
        << key;
  }
  EXPECT_EQ(One("select count(*) from samples where series in (1, 3, 5)"), std::to_string(3 * kRows));
  EXPECT_EQ(One("select count(*) from samples where series = 1 and series = 2"), "0");
}

TEST_F(QueryTest, GivesSamplesInOrderOfTime) {
  const Rows rows = Ask("select t_ns from samples where series = 2 order by t_ns");
  ASSERT_THAT(rows, SizeIs(kRows));
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
}

TEST_F(QueryTest, OnlyReads) {
  for (const char* sql :
       {"insert into samples values (1, 2, 3)", "delete from elements", "update series set unit = 'x'",
        "create table t (a)", "drop view samples_named", "attach 'other.db' as other", "pragma table_info(samples)",
        "select load_extension('x')", "begin", "vacuum"}) {
    EXPECT_EQ(Refused(sql).code, Errc::kPermission) << sql;
  }
  EXPECT_EQ(One("select count(*) from samples where series = 1"), std::to_string(kRows));
}

TEST_F(QueryTest, RefusesWhatIsNotOneStatement) {
  EXPECT_THAT(Refused("").message, HasSubstr("empty"));
  EXPECT_THAT(Refused("select 1; select 2").message, HasSubstr("a second statement begins at character"));
  EXPECT_EQ(One("select 1; "), "1");
}

TEST_F(QueryTest, ErrorsNameTablesAndColumns) {
  const Error table = Refused("select * from sampels");
  EXPECT_EQ(table.code, Errc::kInvalidArgument);
  EXPECT_THAT(table.message, HasSubstr("sampels"));
  EXPECT_THAT(table.hint, AllOf(HasSubstr("did you mean samples"), HasSubstr("processes")));
  const Error column = Refused("select valu from samples");
  EXPECT_THAT(column.message, AllOf(HasSubstr("valu"), HasSubstr("at character 8")));
  EXPECT_THAT(column.hint, AllOf(HasSubstr("did you mean value"), HasSubstr("series, t_ns, value")));
  EXPECT_THAT(Refused("selct 1").message, HasSubstr("at character 1"));
}

TEST_F(QueryTest, StopsAtLimits) {
  uint64_t seen = 0;
  QueryVisitor visitor;
  visitor.on_row = [&](std::span<const QueryValue>) { return ++seen < 5; };
  auto summary = query_->Run("select * from samples", visitor);
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(seen, 5u);
  EXPECT_FALSE(summary->complete);

  summary = query_->Run("select * from samples", {}, {.max_rows = 7});
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->rows, 7u);
  EXPECT_FALSE(summary->complete);

  summary = query_->Run("select * from elements", {}, {.max_rows = 100});
  ASSERT_TRUE(summary.ok());
  EXPECT_TRUE(summary->complete);

  const auto slow = query_->Run("with recursive n(i) as (select 1 union all select i + 1 from n) select max(i) from n",
                                {}, {.time_ns = 1'000'000});
  ASSERT_FALSE(slow.ok());
  EXPECT_EQ(slow.error().code, Errc::kTimeout);
}

}  // namespace
}  // namespace attune::store
