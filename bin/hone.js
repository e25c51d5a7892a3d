#!/usr/bin/env node
// The `hone` command. In a checkout, it first installs and builds missing parts.
import { existsSync } from "node:fs";

const [major, minor] = process.versions.node.split(".").map(Number);
// An older version fails to load the bundle, with an error that shows the whole code.
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(
    `hone: This is Node ${process.versions.node}; Hone needs Node 20.19 or newer (https://nodejs.org).`,
  );
  process.exit(1);
}
if (existsSync(new URL("../scripts/setup.js", import.meta.url))) {
  const { setUp } = await import("../scripts/setup.js");
  setUp();
}
const { main } = await import("../dist/bundle/main.js");
await main(process.argv.slice(2));
