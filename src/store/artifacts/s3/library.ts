// The vendor's client library, in a separate module so that it is loaded only if there is a bucket.
export { S3 } from "@aws-sdk/client-s3";
