import assert from "node:assert/strict";
import { test } from "node:test";

import { environment } from "../../../client/js/src/consent/node_environment.js";
import { decide } from "../../../client/js/src/consent/rules.js";

const YES = { mode: "on", accepted: { aaaa: { name: "theme", day: 20000 } } };
const said = (/** @type {{ [name: string]: string }} */ env) => decide({ environment: () => environment(env) }, YES);

test("the environment speaks before the user, of all metrics", () => {
  assert.equal(said({}).decidedBy, "the user's choice");
  assert.equal(said({ DO_NOT_TRACK: "0", CI: "false" }).mode, "on");
  assert.equal(said({ DO_NOT_TRACK: "1", DITHER: "on" }).decidedBy, "DO_NOT_TRACK in the environment");
  assert.equal(said({ DO_NOT_TRACK: "false" }).mode, "off"); // as in Python: any value but "" and "0"
  assert.deepEqual(said({ DITHER: "Local", CI: "1" }), {
    mode: "local",
    decidedBy: "DITHER in the environment",
    accepted: null,
  });
  assert.equal(said({ DITHER: "yes" }).decidedBy, "DITHER in the environment, which cannot be read");
  assert.equal(said({ DITHER: "yes" }).mode, "off");
  for (const name of ["CI", "GITHUB_ACTIONS", "PYTEST_CURRENT_TEST", "NODE_TEST_CONTEXT"])
    assert.equal(said({ [name]: "true" }).decidedBy, `${name} in the environment: no user is present`);
});
