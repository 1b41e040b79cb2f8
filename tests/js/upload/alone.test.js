/** What Node uploads with: the rest of its tests are those of any `fetch`, in transport.test.js. */
import assert from "node:assert/strict";
import { createServer as createPlainServer } from "node:http";
import { createServer } from "node:https";
import { test } from "node:test";

import { fetchAlone } from "../../../client/js/src/upload/alone.js";
import { addressOf, exchange, headersOf } from "../../../client/js/src/upload/transport.js";

/** Of "localhost", and of nobody else. */
const KEY = `
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg60UdDlN5UFTt7F0f
hvr3VDcoRWAOCejtzfVtnpcOllShRANCAASxiKJqEviAj79bIaL5r7SnGrz5kjL1
7ic87Yvh6TgnTGD5f8X3pti+PhO5zIXkCs3vbCq0BC5MIbd/u/8A54W6
-----END PRIVATE KEY-----`;
const CERTIFICATE = `
-----BEGIN CERTIFICATE-----
MIIBfjCCASWgAwIBAgIUVTwJerXN4HAmz6r9s7KUiNKjqRwwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMjE1Mzg1NFoYDzIxMjYxMDI5
MTUzODU0WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAASxiKJqEviAj79bIaL5r7SnGrz5kjL17ic87Yvh6TgnTGD5f8X3pti+
PhO5zIXkCs3vbCq0BC5MIbd/u/8A54W6o1MwUTAdBgNVHQ4EFgQU5T8zQJ8XMd1b
+fOuqk1cf0OMuXUwHwYDVR0jBBgwFoAU5T8zQJ8XMd1b+fOuqk1cf0OMuXUwDwYD
VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNHADBEAiBpD5m4TXLw7m51MXsiVG6P
itYhRyXn7oC+lu4CreuBGAIgShJRyIP2YPPz9Z0rz0R3f2omV+zhdfm+kWPJruZs
yro=
-----END CERTIFICATE-----`;

/** Send reports to a server of this computer, and return what it saw of each. */
async function seen(context, server, scheme, look) {
  const found = [];
  server.on("request", (request, response) => {
    found.push(look(request));
    response.writeHead(202).end("{}");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.after(() => server.close());
  const address = addressOf(`${scheme}://127.0.0.1:${server.address().port}`);
  for (let time = 0; time < 3; time++) {
    assert.deepEqual(await exchange(fetchAlone, address, headersOf(), "{}"), { result: "202", retryAfter: null });
  }
  return found;
}

test("no upload resumes the TLS session of another, which would be a name", async (context) => {
  const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED;
  context.mock.method(process, "emitWarning", () => {}); // that nobody vouches for this server
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
  context.after(() => {
    if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before;
  });
  const server = createServer({ key: KEY, cert: CERTIFICATE });
  assert.deepEqual(await seen(context, server, "https", ({ socket }) => socket.isSessionReused()), [false, false, false]);
});

test("a request has only the headers that it must have, so that a collector on this computer takes it for no browser", async (context) => {
  const names = await seen(context, createPlainServer(), "http", ({ headers }) => Object.keys(headers).sort().join());
  assert.deepEqual(names, Array(3).fill("connection,content-length,content-type,host"));
});

test("a server without a trusted certificate receives nothing", async (context) => {
  const server = createServer({ key: KEY, cert: CERTIFICATE }, () => assert.fail("a request"));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.after(() => server.close());
  const address = addressOf(`https://127.0.0.1:${server.address().port}`);
  assert.deepEqual(await exchange(fetchAlone, address, headersOf(), "{}"), { result: "no answer" });
});

test("a change of protocol is not an answer", async (context) => {
  const server = createPlainServer().on("connection", (socket) => {
    socket.once("data", () => socket.end("HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.after(() => server.close());
  const address = addressOf(`http://127.0.0.1:${server.address().port}`);
  assert.deepEqual(await exchange(fetchAlone, address, headersOf(), "{}"), { result: "no answer" });
});
