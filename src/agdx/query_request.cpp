#include "agdx/query_request.hpp"

#include <cmath>

#include "agdx/query_context.hpp"
#include "agdx/table.hpp"
#include "agdx/text_rules.hpp"
#include "agdx/typed_value.hpp"

namespace tidemark::agdx {

using namespace table;

namespace {

constexpr std::uint32_t max_list = 4096;
constexpr std::uint32_t max_filter_depth = 64;
constexpr std::uint32_t max_page = 1000;
constexpr std::uint32_t default_page = 50;

constexpr const char* direction_list[] = {"asc", "desc"};
constexpr const char* operator_list[] = {"eq", "ne", "lt", "lte", "gt", "gte", "in", "contains", "prefix"};
constexpr const char* function_list[] = {"count", "count_distinct", "sum",    "avg", "min",
                                         "max",   "percentile",     "std_dev"};
constexpr Names directions = names(direction_list);
constexpr Names operators = names(operator_list);
constexpr Names functions = names(function_list);

bool there(tape::Value value) { return value.exists() && !value.is_null(); }
bool some(tape::Value array) { return array.count() > 0; }

constexpr Row value_row(const char* key) { return {key, Kind::custom, &typed_value}; }
constexpr Row query_name(const char* key) { return text(key).keeps(Limit::name, Rule::query_name); }

// --- target

bool check_snapshot(tape::Value snapshot, Error& error) {
  std::int64_t value = 0;
  return (snapshot.get("value").to_i64(value) && value > 0) || refuse(error, Rule::snapshot, "value");
}

constexpr Field snapshot_fields[] = {i64("value")};
constexpr Message snapshot_message{snapshot_fields, check_snapshot};
constexpr Field snapshot_value = message("", snapshot_message);
constexpr Variant snapshot_variants[] = {{"snapshot_id", &snapshot_value},
                                         {"timestamp_micros", &snapshot_value}};
constexpr Union snapshot{snapshot_variants, Union::Tagging::kind};

constexpr Field operational_fields[] = {query_name("index")};
constexpr Message operational_message{operational_fields};
constexpr Field operational = message("", operational_message);
constexpr Field lakehouse_fields[] = {
    id("destination_id").nonzero(Rule::target_identity),
    u64("destination_generation").nonzero(Rule::target_identity),
    one_of("snapshot", snapshot).optional(),
};
constexpr Message lakehouse_message{lakehouse_fields};
constexpr Field lakehouse = message("", lakehouse_message);
constexpr Variant target_variants[] = {{"operational", &operational}, {"lakehouse", &lakehouse}};

// --- predicates

constexpr Field match_fields[] = {query_name("field"), value_row("value")};
constexpr Message match{match_fields};

bool check_predicate(tape::Value predicate, Error& error) {
  const auto op = predicate.get("op").text();
  const auto operand = view_value(predicate.get("value"));
  if (op == "in" && (operand.kind != TypeKind::list || !some(operand.value)))
    return refuse(error, Rule::filter_in, "value");
  if (op == "prefix" && operand.kind != TypeKind::string) return refuse(error, Rule::filter_prefix, "value");
  return true;
}

constexpr Field predicate_fields[] = {query_name("field"), name("op", operators), value_row("value")};
constexpr Message predicate_message{predicate_fields, check_predicate};
constexpr Field predicate = message("", predicate_message);
constexpr Field one_filter = one_of("", query_filter);
constexpr Field filters = one_of("", query_filter).list().keeps(Limit::items, Rule::filter_empty, 1);
constexpr Variant filter_variants[] = {
    {"all", &filters}, {"any", &filters}, {"not", &one_filter}, {"pred", &predicate}};

// Depth and number of nodes of a whole filter; its nodes check themselves.
bool measure_filter(tape::Value filter, std::uint32_t depth, std::uint32_t& nodes, Error& error,
                    std::string_view field) {
  if (depth > max_filter_depth) return refuse(error, Rule::filter_depth, field);
  if (++nodes > max_list) return refuse(error, Rule::filter_size, field);
  const auto key = filter.first();
  if (key.text() == "not") return measure_filter(key.next(), depth + 1, nodes, error, field);
  if (key.text() != "all" && key.text() != "any") return true;
  return each(key.next(), [&](tape::Value inner, std::uint32_t) {
    return measure_filter(inner, depth + 1, nodes, error, field);
  });
}

bool check_filter(tape::Value query, std::string_view field, Error& error) {
  std::uint32_t nodes = 0;
  const auto filter = query.get(field);
  return !there(filter) || measure_filter(filter, 1, nodes, error, field);
}

// --- time, search

// A tuple: an array of another length cannot be read.
void read_range(Decoding& in, tape::Writer& out) {
  const auto at = in.reader.position();
  std::uint32_t count = 0;
  out.close(out.open(tape::Tag::array), 2);
  auto items = in.reader.array();
  while (in.reader.next(items)) {
    if (++count > 2) break;
    out.u64(in.reader.u64());
  }
  if (in.ok() && count != 2) in.reader.fail(Rule::wrong_type, at);
  in.note();
}

Error check_range(tape::Value range) {
  Error error;
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  if (range.count() != 2 || !range.first().to_u64(start) || !range.first().next().to_u64(end))
    error.rule = Rule::argument;
  else if (start >= end)
    error.rule = Rule::time_range;
  return error;
}

void write_range(tape::Value range, cbor::Writer& out) {
  out.array(2);
  out.u64(number(range.first()));
  out.u64(number(range.first().next()));
}

constexpr Custom time_range{read_range, check_range, write_range};

bool check_vector(tape::Value vector, Error& error) {
  const bool plain = each(vector.get("embedding"), [](tape::Value item, std::uint32_t) {
    double value = 0;
    return item.to_f64(value) && std::isfinite(static_cast<float>(value)) &&
           !(value == 0 && std::signbit(value));
  });
  return plain || refuse(error, Rule::vector, "embedding");
}

constexpr Field vector_fields[] = {
    text("field").label(Rule::vector),
    Row("embedding", Kind::f32).list().keeps(Limit::items, Rule::vector, 1, 65536),
    u32("top_k").keeps(Limit::range, Rule::vector, 1, max_page),
};
constexpr Message vector_search{vector_fields, check_vector};

bool check_text(tape::Value search, Error& error) {
  return !is_blank(search.get("query").text()) || refuse(error, Rule::text, "query");
}

constexpr Field text_fields[] = {
    text("field").optional().label(Rule::text),
    text("query").label(Rule::text, 1024),
};
constexpr Message text_search{text_fields, check_text};

// --- order, page, selection

constexpr Field order_fields[] = {query_name("field"), name("dir", directions).otherwise()};
constexpr Message order{order_fields};

bool check_page(tape::Value page, Error& error) {
  return !there(page.get("offset")) || !there(page.get("cursor")) ||
         refuse(error, Rule::page_selector, "cursor");
}

constexpr Field page_fields[] = {
    u32("limit").keeps(Limit::range, Rule::page_limit, 1, max_page),
    u64("offset").optional(),
    text("cursor").optional().label(Rule::page_cursor, 512),
    boolean("want_total").unless(),
};

// Its offset is why this is no default of the fields: a page that goes on by cursor has none.
void first_page(tape::Writer& out) {
  out.close(out.open(tape::Tag::map), 2);
  out.key("limit"), out.u32(default_page);
  out.key("offset"), out.u64(0);
}
constexpr Message page_request{page_fields, check_page, Message::Unknown::skipped, first_page};

constexpr Field select_fields[] = {
    query_name("fields").list().unless(),
    boolean("payload").otherwise(),
};
constexpr Message selection{select_fields};

// --- aggregates

bool check_call(tape::Value call, Error& error) {
  const auto function = call.get("func").text();
  const auto argument = call.get("arg");
  double value = 0;
  const bool fractional = argument.to_f64(value);
  if (function == "percentile") {
    if (!fractional || !(value >= 0 && value <= 1)) return refuse(error, Rule::aggregate, "arg");
  } else if (there(argument)) {
    return refuse(error, Rule::aggregate, "arg");
  }
  return function == "count" || there(call.get("field")) || refuse(error, Rule::aggregate, "field");
}

constexpr Field call_fields[] = {
    name("func", functions),
    query_name("field").optional(),
    Row("arg", Kind::f64).optional(),
    query_name("alias"),
};
constexpr Message call{call_fields, check_call};

constexpr Field window_fields[] = {query_name("field"), u64("every_micros").nonzero(Rule::window)};
constexpr Message window{window_fields};

bool check_aggregate(tape::Value aggregate, Error& error) {
  const auto calls = aggregate.get("funcs");
  const bool unique = each(calls, [&](tape::Value item, std::uint32_t index) {
    auto earlier = calls.first();
    for (std::uint32_t before = 0; before < index; ++before, earlier = earlier.next())
      if (earlier.get("alias").text() == item.get("alias").text()) return false;
    return true;
  });
  if (!unique) return refuse(error, Rule::aggregate, "funcs");
  return aggregate.get("group_by").count() <= max_list || refuse(error, Rule::aggregate, "group_by");
}

constexpr Field aggregate_fields[] = {
    query_name("group_by").list().unless(),
    message("funcs", call).list().keeps(Limit::items, Rule::aggregate, 1, 1024),
    message("window", window).optional(),
};
constexpr Message aggregate_message{aggregate_fields, check_aggregate};

// --- raw SQL

bool check_sql(tape::Value raw, Error& error) {
  const auto sql = raw.get("sql").text();
  if (is_blank(sql) || has_control_except_layout(sql)) return refuse(error, Rule::raw_sql, "sql");
  return raw.get("params").count() <= 1024 || refuse(error, Rule::raw_sql, "params");
}

constexpr Field sql_fields[] = {
    name("dialect", sql_dialects),
    text("sql").keeps(Limit::length, Rule::raw_sql, 1, 65536),
    value_row("params").list().unless(),
};
constexpr Message raw_sql{sql_fields, check_sql};

// --- the query

bool check_raw_alone(tape::Value query, Error& error) {
  constexpr std::string_view lists[] = {"by_key", "order"};
  constexpr std::string_view parts[] = {"message_type", "time_range", "filter", "vector",
                                        "text",         "aggregate",  "having"};
  for (const auto key : lists)
    if (some(query.get(key))) return refuse(error, Rule::raw_sql_exclusive, key);
  for (const auto key : parts)
    if (there(query.get(key))) return refuse(error, Rule::raw_sql_exclusive, key);
  if (query.get("distinct").boolean()) return refuse(error, Rule::raw_sql_exclusive, "distinct");
  const auto select = query.get("select");
  return (!some(select.get("fields")) && !select.get("payload").boolean()) ||
         refuse(error, Rule::raw_sql_exclusive, "select");
}

bool check_query(tape::Value query, Error& error) {
  for (const std::string_view key : {"by_key", "order"})
    if (query.get(key).count() > max_list) return refuse(error, Rule::query_name, key);
  const auto select = query.get("select");
  if (select.get("fields").count() > max_list) return refuse(error, Rule::query_name, "select.fields");
  if (!check_filter(query, "filter", error) || !check_filter(query, "having", error)) return false;
  const bool aggregates = there(query.get("aggregate"));
  if (aggregates && (some(select.get("fields")) || select.get("payload").boolean()))
    return refuse(error, Rule::aggregate_select, "select");
  if (!aggregates && there(query.get("having"))) return refuse(error, Rule::having, "having");
  if (there(query.get("raw_sql")) && !check_raw_alone(query, error)) return false;
  if (query.get("target").get("kind").text() == "lakehouse" && there(query.get("fork")))
    return refuse(error, Rule::lakehouse_fork, "fork");
  return true;
}

constexpr Field query_fields[] = {
    id("execution_id").nonzero(Rule::execution_id), one_of("target", query_target),
    u64("deadline_micros").nonzero(Rule::deadline), message("by_key", match).list().unless(),
    query_name("message_type").optional(),          Row("time_range", Kind::custom, &time_range).optional(),
    one_of("filter", query_filter).optional(),      message("vector", vector_search).optional(),
    message("text", text_search).optional(),        message("order", order).list().unless(),
    message("page", page_request).otherwise(),      message("aggregate", aggregate_message).optional(),
    one_of("having", query_filter).optional(),      boolean("distinct").unless(),
    message("select", selection).otherwise(),       query_name("fork").optional(),
    message("raw_sql", raw_sql).optional(),         name("consistency", consistency_levels).unless(),
};
constexpr Message query_message{query_fields, check_query};

constexpr Field envelope_fields[] = {version(), message("query", query_message)};
constexpr Message envelope_message{envelope_fields};

Error check_typed_value(tape::Value value) { return check_value(value); }

}  // namespace

constexpr Custom typed_value{read_value, check_typed_value, write_value};
constexpr Union query_target{target_variants, Union::Tagging::kind};
constexpr Union query_filter{filter_variants};
constexpr Field query_envelope = message("", envelope_message);

}  // namespace tidemark::agdx
