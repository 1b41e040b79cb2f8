/**
 * The environment of a Node process: what it says about consent, as `client/dither/consent/rules.py` reads it.
 *
 * `DO_NOT_TRACK` (any value but "" and "0") means off; then `DITHER` is off, local or on, in any case; then a
 * machine for continuous integration, or a test, means off, because nobody is there to answer.
 */

const AUTOMATION = [
  ...["CI", "CONTINUOUS_INTEGRATION", "GITHUB_ACTIONS", "GITLAB_CI", "TF_BUILD", "JENKINS_URL", "BUILDKITE"],
  ...["CIRCLECI", "TRAVIS", "APPVEYOR", "TEAMCITY_VERSION", "CODEBUILD_BUILD_ID", "PYTEST_CURRENT_TEST"],
  ...["NODE_TEST_CONTEXT", "VITEST", "JEST_WORKER_ID"],
];

/**
 * Return the mode that an environment sets, and in words which variable sets it; undefined if none does.
 * @param {{ [name: string]: string | undefined }} env
 * @returns {import("./rules.js").Verdict | undefined}
 */
export function environment(env) {
  if (!["", "0"].includes(env.DO_NOT_TRACK ?? "")) return ["off", "DO_NOT_TRACK in the environment"];
  if (env.DITHER) return [env.DITHER.toLowerCase(), "DITHER in the environment"];
  const sign = AUTOMATION.find((name) => !["", "0", "false"].includes((env[name] ?? "").toLowerCase()));
  if (sign) return ["off", `${sign} in the environment: no user is present`];
}
