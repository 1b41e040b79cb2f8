-- For wrk: POST batches that are alike but for their id. The argument is the rest of the JSON, after the id.
local count = 0

function init(arguments)
  math.randomseed(os.time() + tonumber(tostring({}):sub(8), 16) % 2^20)
  start = string.format("%08x%08x", math.random(0, 2^31 - 1), math.random(0, 2^31 - 1))
  rest = arguments[1]
  wrk.headers["Content-Type"] = "application/json"
end

function request()
  count = count + 1
  return wrk.format("POST", "/v1/reports", nil, string.format('{"batch": "%s%016x", %s', start, count, rest))
end

function done(summary, latency)
  local failed = summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout
  io.write(string.format(
    '\n{"requests": %d, "seconds": %f, "refused": %d, "failed": %d, "p99": %f}\n',
    summary.requests, summary.duration / 1e6, summary.errors.status, failed, latency:percentile(99) / 1e3))
end
