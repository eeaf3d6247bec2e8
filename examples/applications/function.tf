# function.sql in Terraform's language. worker.zip is a file beside it.
resource "aws_vpc" "worker" {
  cidr_block = "10.63.0.0/16"
  tags       = { Name = "worker" }
}

resource "aws_subnet" "worker" {
  for_each = {
    a = "10.63.0.0/24"
    b = "10.63.1.0/24"
  }
  vpc_id            = aws_vpc.worker.id
  cidr_block        = each.value
  availability_zone = "us-east-1${each.key}"
  tags              = { Name = "worker" }
}

resource "aws_security_group" "worker" {
  name        = "worker"
  description = "What the function reaches"
  vpc_id      = aws_vpc.worker.id
}

resource "aws_vpc_security_group_egress_rule" "worker" {
  security_group_id = aws_security_group.worker.id
  ip_protocol       = "-1"
  cidr_ipv4         = "0.0.0.0/0"
}

resource "aws_sqs_queue" "failed" {
  name                      = "worker-failed"
  message_retention_seconds = 1209600
}

resource "aws_iam_role" "worker" {
  name = "worker"
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "lambda.amazonaws.com" }
      Action    = "sts:AssumeRole"
    }]
  })
}

resource "aws_iam_role_policy_attachment" "worker" {
  role       = aws_iam_role.worker.name
  policy_arn = "arn:aws:iam::aws:policy/service-role/AWSLambdaVPCAccessExecutionRole"
}

resource "aws_iam_role_policy" "failed" {
  name = "failed"
  role = aws_iam_role.worker.id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect   = "Allow"
      Action   = "sqs:SendMessage"
      Resource = "*"
    }]
  })
}

resource "aws_lambda_function" "worker" {
  function_name = "worker"
  role          = aws_iam_role.worker.arn
  runtime       = "python3.12"
  handler       = "index.handler"
  filename      = "worker.zip"
  memory_size   = 256
  timeout       = 30
  vpc_config {
    subnet_ids         = [for s in aws_subnet.worker : s.id]
    security_group_ids = [aws_security_group.worker.id]
  }
  dead_letter_config {
    target_arn = aws_sqs_queue.failed.arn
  }
  tracing_config {
    mode = "Active"
  }
  depends_on = [aws_iam_role_policy_attachment.worker, aws_iam_role_policy.failed]
}
