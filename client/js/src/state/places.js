/** Places: find the folder of the apps' states, next to that of Python's clients, whose files differ. */
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/** By system: the environment variable for the place of state, and the default place. */
const BASES = {
  win32: ["LOCALAPPDATA", "AppData/Local"],
  darwin: ["", "Library/Application Support"],
  other: ["XDG_STATE_HOME", ".local/state"],
};

/**
 * Return the folder that holds the state of each app of this user. A path that is not absolute is ignored, as
 * the XDG Base Directory Specification says. Throws for a user whose home is not an absolute path.
 * @param {string} [platform]
 * @param {{ [name: string]: string | undefined }} [env]
 * @param {() => string} [home]
 */
export function appsFolder(platform = process.platform, env = process.env, home = homedir) {
  const [name, usual] = BASES[/** @type {keyof typeof BASES} */ (platform)] ?? BASES.other;
  const given = env[name] ?? "";
  const folder = join(isAbsolute(given) ? given : join(home(), usual), "dither-js");
  if (!isAbsolute(folder)) throw new TypeError("state: the user's home is no absolute path; set HOME");
  return folder;
}
