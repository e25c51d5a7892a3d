// Tests of converting the URL's query to the API query.
import assert from "node:assert/strict";
import { test } from "node:test";
import { askedPage, filtersIn } from "./recorded-query.ts";

test("requests the page with the URL's filters and position, and ignores other parameters", () => {
  const query = new URLSearchParams("model=p/a&feedback=&after=17&x=1");
  assert.deepEqual(filtersIn(query), { model: "p/a" });
  assert.deepEqual(askedPage(query, "acme"), { model: "p/a", limit: 50, after: "17" });
  assert.deepEqual(askedPage(new URLSearchParams(), "acme"), { limit: 50 });
  const { project } = askedPage(new URLSearchParams("project=shop"), "acme");
  assert.equal(project, "acme/shop");
  const { metadata } = askedPage(new URLSearchParams({ metadata: "user=ann, note=a=b" }), "acme");
  assert.deepEqual(metadata, { user: "ann", note: "a=b" });
});
