-- For wrk: POST sealed reports, each as random as a real one. The arguments: a pool, the base64 digits of a sealed row.
local digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

function init(arguments)
  math.randomseed(os.time() + tonumber(tostring({}):sub(8), 16) % 2^20)
  pool, length = arguments[1], tonumber(arguments[2])
  wrk.headers["Content-Type"] = "application/json"
end

function request()
  local drawn = {}
  for place = 1, length do
    local digit = math.random(1, 64)
    drawn[place] = digits:sub(digit, digit)
  end
  return wrk.format("POST", "/v1/sealed", nil, '{"pool": "' .. pool .. '", "sealed": "' .. table.concat(drawn) .. '"}')
end

function done(summary, latency)
  io.write(string.format(
    '\n{"requests": %d, "seconds": %f, "refused": %d, "p99": %f}\n',
    summary.requests, summary.duration / 1e6, summary.errors.status, latency:percentile(99) / 1e3))
end
