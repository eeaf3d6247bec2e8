# data_lake.sql in Terraform's language.
data "aws_caller_identity" "current" {}

locals {
  lake = "example-lake-${data.aws_caller_identity.current.account_id}"
  copy = "example-lake-copy-${data.aws_caller_identity.current.account_id}"
}

provider "aws" {
  alias  = "west"
  region = "us-west-2"
}

resource "aws_sqs_queue" "lake" {
  name = "example-lake"
}

resource "aws_sqs_queue_policy" "lake" {
  queue_url = aws_sqs_queue.lake.url
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "s3.amazonaws.com" }
      Action    = "sqs:SendMessage"
      Resource  = aws_sqs_queue.lake.arn
      Condition = { ArnLike = { "aws:SourceArn" = aws_s3_bucket.lake.arn } }
    }]
  })
}

resource "aws_iam_role" "copies" {
  name = "example-lake-copies"
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "s3.amazonaws.com" }
      Action    = "sts:AssumeRole"
    }]
  })
}

resource "aws_iam_role_policy" "copies" {
  name = "copy"
  role = aws_iam_role.copies.id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect   = "Allow"
      Resource = "*"
      Action = ["s3:GetReplicationConfiguration", "s3:ListBucket", "s3:GetObjectVersionForReplication",
      "s3:ReplicateObject", "s3:ReplicateDelete"]
    }]
  })
}

resource "aws_s3_bucket" "copy" {
  provider = aws.west
  bucket   = local.copy
}

resource "aws_s3_bucket_versioning" "copy" {
  provider = aws.west
  bucket   = aws_s3_bucket.copy.id
  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_bucket_lifecycle_configuration" "copy" {
  provider = aws.west
  bucket   = aws_s3_bucket.copy.id
  rule {
    id     = "cold"
    status = "Enabled"
    filter {
      prefix = ""
    }
    transition {
      days          = 30
      storage_class = "GLACIER"
    }
  }
}

resource "aws_s3_bucket_public_access_block" "copy" {
  provider                = aws.west
  bucket                  = aws_s3_bucket.copy.id
  block_public_acls       = true
  ignore_public_acls      = true
  block_public_policy     = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket" "lake" {
  bucket = local.lake
}

resource "aws_s3_bucket_versioning" "lake" {
  bucket = aws_s3_bucket.lake.id
  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_bucket_server_side_encryption_configuration" "lake" {
  bucket = aws_s3_bucket.lake.id
  rule {
    bucket_key_enabled = true
    apply_server_side_encryption_by_default {
      sse_algorithm = "aws:kms"
    }
  }
}

resource "aws_s3_bucket_lifecycle_configuration" "lake" {
  bucket = aws_s3_bucket.lake.id
  rule {
    id     = "raw"
    status = "Enabled"
    filter {
      prefix = "raw/"
    }
    transition {
      days          = 30
      storage_class = "STANDARD_IA"
    }
    transition {
      days          = 180
      storage_class = "GLACIER"
    }
    noncurrent_version_expiration {
      noncurrent_days = 30
    }
  }
}

resource "aws_s3_bucket_notification" "lake" {
  bucket = aws_s3_bucket.lake.id
  queue {
    id        = "new"
    queue_arn = aws_sqs_queue.lake.arn
    events    = ["s3:ObjectCreated:*"]
  }
  depends_on = [aws_sqs_queue_policy.lake]
}

resource "aws_s3_bucket_replication_configuration" "lake" {
  bucket = aws_s3_bucket.lake.id
  role   = aws_iam_role.copies.arn
  rule {
    id       = "all"
    priority = 1
    status   = "Enabled"
    filter {
      prefix = ""
    }
    delete_marker_replication {
      status = "Disabled"
    }
    destination {
      bucket = aws_s3_bucket.copy.arn
    }
  }
  depends_on = [aws_s3_bucket_versioning.lake, aws_s3_bucket_versioning.copy]
}

resource "aws_s3_bucket_public_access_block" "lake" {
  bucket                  = aws_s3_bucket.lake.id
  block_public_acls       = true
  ignore_public_acls      = true
  block_public_policy     = true
  restrict_public_buckets = true
}
