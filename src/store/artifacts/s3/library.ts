// The vendor's client library for S3. This import is in a separate module, so that the library is loaded only if a
// bucket is used.
export { S3 } from "@aws-sdk/client-s3";
