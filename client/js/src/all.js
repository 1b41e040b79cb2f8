/**
 * Every kind of question and every mechanism in addition to those of booleans and choices, added by importing
 * this.
 */
import { hadamard, subsets, symbol, unary } from "./mechanisms/channels.js";
import { MECHANISMS } from "./mechanisms/index.js";
import { bucket, cohort, hash, itself, padded, pattern, step } from "./mechanisms/markings.js";
import { points } from "./mechanisms/points.js";
import { cross } from "./questions/cross.js";
import { discovery } from "./questions/discovery.js";
import { KINDS } from "./questions/index.js";
import { number } from "./questions/number.js";
import { selection } from "./questions/selection.js";
import { string } from "./questions/string.js";
import { subsetMeeting } from "./randomness/draws.js";

Object.assign(KINDS, { cross, discovery, number, selection, string });
Object.assign(MECHANISMS, {
  "local-hashing": [hash, symbol, cohort],
  "dithered-response": [step, symbol, cohort],
  "set-response": [pattern, symbol, cohort],
  "optimized-unary": [itself, unary],
  "symmetric-unary": [itself, unary],
  privset: [padded, subsets(subsetMeeting)],
  "hadamard-response": [itself, hadamard],
  "projective-geometry": [itself, points],
  "projective-count-mean-sketch": [bucket, points, cohort],
  "prefix-sketch": [bucket, points, cohort],
});
