// Tests of projects that a person types with or without an entity.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fullProjectName, projectsOfModels } from "./project-name.ts";

test("adds the key's entity to a project without one", () => {
  assert.equal(fullProjectName(" shop ", "acme"), "acme/shop");
  assert.equal(fullProjectName("shop/", "acme"), "acme/shop");
  assert.equal(fullProjectName("other/shop", "acme"), "other/shop");
  assert.equal(fullProjectName(" ", "acme"), "");
});

test("finds the projects of trained models, and none of base models", () => {
  const names = ["hone-tiny", "org/base", "acme/shop/a", "acme/shop/a:step1", "acme/desk/b"];
  assert.deepEqual(projectsOfModels(names), ["acme/shop", "acme/desk"]);
});
