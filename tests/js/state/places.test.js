import assert from "node:assert/strict";
import { test } from "node:test";

import { appsFolder } from "../../../client/js/src/state/places.js";

const home = () => "/home/ada";

test("each system has its place, which is not that of Python's clients", () => {
  assert.equal(appsFolder("linux", {}, home), "/home/ada/.local/state/dither-js");
  assert.equal(appsFolder("freebsd", { XDG_STATE_HOME: "/var/state" }, home), "/var/state/dither-js");
  assert.equal(appsFolder("darwin", { XDG_STATE_HOME: "/var/state" }, home), "/home/ada/Library/Application Support/dither-js");
  assert.equal(appsFolder("win32", {}, home), "/home/ada/AppData/Local/dither-js");
  assert.equal(appsFolder("win32", { LOCALAPPDATA: "/local" }, home), "/local/dither-js");
});

test("a path that is not absolute is ignored, and a home that is not is refused", () => {
  assert.equal(appsFolder("linux", { XDG_STATE_HOME: "state" }, home), "/home/ada/.local/state/dither-js");
  assert.throws(() => appsFolder("linux", {}, () => "home"), /absolute/);
});
