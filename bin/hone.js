#!/usr/bin/env node
// The `hone` command. In a checkout, it first installs and builds missing parts.
import { existsSync } from "node:fs";

if (existsSync(new URL("../scripts/setup.js", import.meta.url))) {
  const { setUp } = await import("../scripts/setup.js");
  setUp();
}
const { main } = await import("../dist/bundle/main.js");
await main(process.argv.slice(2));
