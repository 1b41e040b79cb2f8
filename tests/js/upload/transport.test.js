import assert from "node:assert/strict";
import { createServer } from "node:http";
import { createServer as createPlainServer } from "node:net";
import { test } from "node:test";

import { fetchAlone, telling } from "../../../client/js/src/upload/alone.js";
import { addressOf, exchange, headersOf } from "../../../client/js/src/upload/transport.js";

/** Let `server` listen on this computer until the test is over, and return its address. */
async function listening(context, server) {
  const sockets = new Set();
  server.on("connection", (socket) => sockets.add(socket.on("error", () => {}).on("close", () => sockets.delete(socket))));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.after(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${server.address().port}`;
}

/** The deadline as it stands, but two hundred times as short. */
function hasty(context) {
  const { timeout } = AbortSignal;
  context.mock.method(AbortSignal, "timeout", (ms) => (assert.equal(ms, 20e3), timeout.call(AbortSignal, ms / 200)));
}

const STALLS = {
  "says nothing": () => {},
  "says a byte of a head now and then": (socket) => {
    socket.write("HTTP/1.1 202 Accepted\r\nX: ");
    const timer = setInterval(() => socket.write("x"), 10).unref();
    socket.on("close", () => clearInterval(timer));
  },
  "puts the answer off and off": (socket) => {
    const timer = setInterval(() => socket.write("HTTP/1.1 103 Early Hints\r\n\r\n"), 10).unref();
    socket.on("close", () => clearInterval(timer));
  },
};

const NONSENSE = { nothing: "", noise: "\0".repeat(100), "another protocol": "220 smtp\r\n", "a long head": `HTTP/1.1 202 A\r\nX: ${"x".repeat(1e5)}\r\n\r\n` };

/** A port at which no server listens, and which none is given that asks for any; browsers block 1 and 9. */
const NOBODYS = 2;

/** What uploads, and how the names of its tests begin. */
const MEANS = { "": telling(fetch), "Node's own: ": telling(fetchAlone) };

for (const [of, means] of Object.entries(MEANS)) {
  const send = (address, headers = {}) => exchange(means, address, headers, "{}");

  test(of + "a report arrives as it is, and of the answer the status and Retry-After are read", async (context) => {
    const requests = [];
    const server = createServer(async (request, response) => {
      let body = "";
      for await (const piece of request) body += piece;
      requests.push({ method: request.method, url: request.url, headers: request.headers, body });
      response.writeHead(429, { "retry-after": "60", "set-cookie": "id=1", etag: '"1"' }).end("x");
    });
    const address = addressOf(`${await listening(context, server)}/of/us/`);
    for (const headers of [headersOf(), headersOf("a-token")])
      assert.deepEqual(await send(address, headers), { result: "429", retryAfter: "60" });
    assert.deepEqual(requests.map(({ method, url }) => `${method} ${url}`), Array(2).fill("POST /of/us/v1/reports"));
    const received = requests.map(({ headers }) => [headers["content-type"], headers.authorization]);
    assert.deepEqual(received, [["application/json", undefined], ["application/json", "Bearer a-token"]]);
    assert.deepEqual(requests.map(({ body }) => body), ["{}", "{}"]);
    for (const { headers } of requests)
      for (const name of ["cookie", "referer", "origin", "if-none-match"]) assert.equal(headers[name], undefined);
  });

  test(of + "each upload of Node has a connection of its own", async (context) => {
    const ports = new Set();
    const server = createServer((request, response) => {
      ports.add(request.socket.remotePort);
      request.resume().on("end", () => response.writeHead(202).end("{}"));
    });
    const address = addressOf(await listening(context, server));
    for (let time = 0; time < 4; time++) assert.equal((await send(address, headersOf())).result, "202");
    assert.equal(ports.size, 4);
  });

  for (const status of [302, 308])
    test(`${of}redirects are not followed: ${status}`, async (context) => {
      let followed = 0;
      const server = createServer((request, response) => {
        followed += request.url === "/elsewhere";
        response.writeHead(status, { location: "/elsewhere" }).end();
      });
      assert.equal((await send(addressOf(await listening(context, server)))).result, `${status}`);
      assert.equal(followed, 0);
    });

  for (const [name, act] of Object.entries(STALLS))
    test(`${of}one deadline holds for a collector that ${name}`, async (context) => {
      hasty(context);
      const address = await listening(context, createPlainServer((socket) => act(socket.resume())));
      assert.deepEqual(await send(address), { result: "no answer" });
    });

  test(of + "a body without end is not read", async (context) => {
    let written = 0;
    const closed = new Promise((resolve) => {
      const server = createServer((_, response) => {
        response.writeHead(202);
        const more = () => {
          while (!response.destroyed && response.write(Buffer.alloc(1 << 16))) written++;
          if (!response.destroyed) response.once("drain", () => (written++, more()));
        };
        response.on("close", resolve);
        more();
      });
      listening(context, server).then(async (address) => assert.equal((await send(address)).result, "202"));
    });
    await closed; // the connection is cut, although there is more
    assert.ok(written < 1000, `${written} pieces of 64 KiB`);
  });

  for (const [name, words] of Object.entries(NONSENSE))
    test(`${of}a collector that hangs up, or says ${name}, may have seen the report`, async (context) => {
      const server = createPlainServer((socket) => socket.once("data", () => socket.end(words)));
      assert.deepEqual(await send(await listening(context, server)), { result: "no answer" });
    });

  test(of + "without a listener or a known name no collector was reached", async () => {
    assert.deepEqual(await send(`http://127.0.0.1:${NOBODYS}`), { result: "not reached" });
    assert.deepEqual(await send("https://collector.invalid"), { result: "not reached" });
    assert.deepEqual(await send(`http://localhost:${NOBODYS}`), { result: "not reached" }, "by more addresses than one");
  });
}

test("an opaque redirect of a browser counts as a redirect", async () => {
  const opaque = async () => Object.defineProperty(Response.error(), "type", { value: "opaqueredirect" });
  assert.deepEqual(await exchange(opaque, "https://collector.example", {}, "{}"), { result: "300", retryAfter: null });
});

test("a page sends plain text, which takes no preflight", async (context) => {
  let type = "";
  const server = createServer((request, response) => {
    type = request.headers["content-type"];
    response.writeHead(202).end();
  });
  await exchange(fetch, await listening(context, server), {}, "{}");
  assert.equal(type, "text/plain;charset=UTF-8");
});

for (const [endpoint, address] of [
  ["https://collector.example", "https://collector.example/v1/reports"],
  ["https://collector.example:8443/of/us///", "https://collector.example:8443/of/us/v1/reports"],
  ["http://collector:8000", "http://collector:8000/v1/reports"],
  ["http://127.0.0.1/", "http://127.0.0.1/v1/reports"],
  ["http://[::1]:8000", "http://[::1]:8000/v1/reports"],
])
  test(`an endpoint: ${endpoint}`, () => assert.equal(addressOf(endpoint), address));

for (const endpoint of [
  ...["ftp://localhost", "file:///etc", "javascript:0", "http:/collector.example"],
  ...["collector.example", "/telemetry", "//collector.example", "", "https://", "https://a b", undefined, null, 7, {}],
  ...["https://user:Very-Secret@collector.example", "https://collector.example/?key=Very-Secret", "https://a#b"],
])
  test(`no endpoint: ${endpoint}`, () =>
    assert.throws(() => addressOf(endpoint), (error) => error instanceof Error && !error.message.includes("Secret")));

test("in a page the endpoint may be a path of its own site, and a report needs no preflight", (context) => {
  context.after(() => delete globalThis.location);
  globalThis.location = { href: "https://app.example/notes/?of=me" };
  assert.equal(addressOf("/telemetry"), "https://app.example/telemetry/v1/reports");
  assert.deepEqual(headersOf(), {});
  assert.equal(headersOf("token").authorization, "Bearer token");
});

for (const token of ["with space", "new\nline", "ünïcode", "Very-Secret\0"])
  test(`no token: ${JSON.stringify(token)}`, () =>
    assert.throws(() => headersOf(token), ({ message }) => message === "token: not for a header"));
