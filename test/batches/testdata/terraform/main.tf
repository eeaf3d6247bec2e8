# An account as people keep it in Terraform: 500 resources of 67 types, in two regions.

terraform {
  required_providers {
    aws = { source = "hashicorp/aws" }
  }
}

variable "endpoint" { type = string }

locals {
  zones = ["us-east-1a", "us-east-1b", "us-east-1c"]
  trust = { for s in ["ec2", "ecs-tasks", "lambda", "events"] : s => jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "${s}.amazonaws.com" } }]
  }) }
  open = jsonencode({ Version = "2012-10-17", Statement = [{ Effect = "Allow", Action = "s3:GetObject", Resource = "*" }] })
}

provider "aws" {
  region                      = "us-east-1"
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  s3_use_path_style           = true
  endpoints {
    acm            = var.endpoint
    appautoscaling = var.endpoint
    autoscaling    = var.endpoint
    cloudwatch     = var.endpoint
    dynamodb       = var.endpoint
    ec2            = var.endpoint
    ecr            = var.endpoint
    ecs            = var.endpoint
    efs            = var.endpoint
    elbv2          = var.endpoint
    events         = var.endpoint
    iam            = var.endpoint
    kinesis        = var.endpoint
    kms            = var.endpoint
    lambda         = var.endpoint
    logs           = var.endpoint
    rds            = var.endpoint
    route53        = var.endpoint
    s3             = var.endpoint
    secretsmanager = var.endpoint
    sns            = var.endpoint
    sqs            = var.endpoint
    ssm            = var.endpoint
    sts            = var.endpoint
  }
}

provider "aws" {
  alias                       = "west"
  region                      = "us-west-2"
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  endpoints {
    ec2  = var.endpoint
    logs = var.endpoint
    sns  = var.endpoint
    sqs  = var.endpoint
    sts  = var.endpoint
  }
}

# Networks: 3 VPCs with all that belongs to them.

resource "aws_vpc" "net" {
  count      = 3
  cidr_block = "10.${count.index + 20}.0.0/16"
  tags       = { Name = "net-${count.index}" }
}

resource "aws_subnet" "net" {
  count             = 18
  vpc_id            = aws_vpc.net[count.index % 3].id
  cidr_block        = "10.${count.index % 3 + 20}.${count.index}.0/24"
  availability_zone = local.zones[floor(count.index / 3) % 3]
  tags              = { Name = "net-${count.index}" }
}

resource "aws_internet_gateway" "net" {
  count  = 3
  vpc_id = aws_vpc.net[count.index].id
}

resource "aws_eip" "nat" {
  count  = 3
  domain = "vpc"
}

resource "aws_nat_gateway" "net" {
  count         = 3
  allocation_id = aws_eip.nat[count.index].id
  subnet_id     = aws_subnet.net[count.index].id
  depends_on    = [aws_internet_gateway.net]
}

resource "aws_route_table" "net" {
  count  = 6
  vpc_id = aws_vpc.net[count.index % 3].id
}

resource "aws_route" "out" {
  count                  = 6
  route_table_id         = aws_route_table.net[count.index].id
  destination_cidr_block = "0.0.0.0/0"
  gateway_id             = count.index < 3 ? aws_internet_gateway.net[count.index].id : null
  nat_gateway_id         = count.index < 3 ? null : aws_nat_gateway.net[count.index % 3].id
}

resource "aws_route_table_association" "net" {
  count          = 18
  subnet_id      = aws_subnet.net[count.index].id
  route_table_id = aws_route_table.net[count.index % 6].id
}

resource "aws_vpc_endpoint" "s3" {
  count           = 3
  vpc_id          = aws_vpc.net[count.index].id
  service_name    = "com.amazonaws.us-east-1.s3"
  route_table_ids = [aws_route_table.net[count.index].id]
}

resource "aws_network_acl" "net" {
  count  = 3
  vpc_id = aws_vpc.net[count.index].id
}

resource "aws_vpc_dhcp_options" "net" {
  domain_name_servers = ["AmazonProvidedDNS"]
  domain_name         = "shop.internal"
}

resource "aws_vpc_dhcp_options_association" "net" {
  count           = 3
  vpc_id          = aws_vpc.net[count.index].id
  dhcp_options_id = aws_vpc_dhcp_options.net.id
}

resource "aws_security_group" "app" {
  count       = 12
  name        = "app-${count.index}"
  description = "Group ${count.index}"
  vpc_id      = aws_vpc.net[count.index % 3].id
}

resource "aws_vpc_security_group_ingress_rule" "https" {
  count             = 12
  security_group_id = aws_security_group.app[count.index].id
  ip_protocol       = "tcp"
  from_port         = 443
  to_port           = 443
  cidr_ipv4         = "0.0.0.0/0"
}

resource "aws_security_group_rule" "within" {
  count                    = 12
  type                     = "ingress"
  security_group_id        = aws_security_group.app[count.index].id
  source_security_group_id = aws_security_group.app[count.index].id
  protocol                 = "tcp"
  from_port                = 8080
  to_port                  = 8080
}

# Machines.

resource "aws_key_pair" "people" {
  count      = 2
  key_name   = "people-${count.index}"
  public_key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGFB1zGq5aNUb6L2G0vq5b1uRk0s8TIJt8sF5S0cB2c${count.index} people"
}

resource "aws_launch_template" "app" {
  count         = 2
  name          = "app-${count.index}"
  image_id      = "ami-12c6146b"
  instance_type = "t3.micro"
}

resource "aws_autoscaling_group" "app" {
  count               = 2
  name                = "app-${count.index}"
  min_size            = 0
  max_size            = 2
  vpc_zone_identifier = [aws_subnet.net[count.index].id]
  launch_template {
    id      = aws_launch_template.app[count.index].id
    version = "$Latest"
  }
}

resource "aws_instance" "bastion" {
  count                  = 2
  ami                    = "ami-12c6146b"
  instance_type          = "t3.micro"
  subnet_id              = aws_subnet.net[count.index].id
  vpc_security_group_ids = [aws_security_group.app[count.index].id]
}

resource "aws_ebs_volume" "data" {
  count             = 4
  availability_zone = "us-east-1a"
  size              = 10
  type              = "gp3"
}

# Identities.

resource "aws_iam_role" "app" {
  count              = 16
  name               = "app-${count.index}"
  assume_role_policy = local.trust[keys(local.trust)[count.index % 4]]
}

resource "aws_iam_role_policy" "app" {
  count  = 8
  name   = "inline"
  role   = aws_iam_role.app[count.index].name
  policy = local.open
}

resource "aws_iam_policy" "app" {
  count  = 6
  name   = "app-${count.index}"
  policy = local.open
}

resource "aws_iam_role_policy_attachment" "app" {
  count      = 12
  role       = aws_iam_role.app[count.index].name
  policy_arn = aws_iam_policy.app[count.index % 6].arn
}

resource "aws_iam_instance_profile" "app" {
  count = 2
  name  = "app-${count.index}"
  role  = aws_iam_role.app[count.index].name
}

resource "aws_iam_group" "people" {
  count = 2
  name  = "people-${count.index}"
}

resource "aws_iam_user" "people" {
  count = 8
  name  = "person-${count.index}"
}

resource "aws_iam_user_policy_attachment" "people" {
  count      = 8
  user       = aws_iam_user.people[count.index].name
  policy_arn = aws_iam_policy.app[count.index % 6].arn
}

resource "aws_iam_access_key" "people" {
  count = 2
  user  = aws_iam_user.people[count.index].name
}

# Queues, topics, parameters, secrets, keys.

resource "aws_sqs_queue" "work" {
  count                      = 40
  name                       = "work-${count.index}"
  visibility_timeout_seconds = 60
  redrive_policy             = count.index < 20 ? jsonencode({ deadLetterTargetArn = "arn:aws:sqs:us-east-1:${data.aws_caller_identity.me.account_id}:dead", maxReceiveCount = 3 }) : null
  depends_on                 = [aws_sqs_queue.dead]
}

resource "aws_sqs_queue" "dead" { name = "dead" }

resource "aws_sqs_queue" "west" {
  count    = 10
  provider = aws.west
  name     = "west-${count.index}" # the emulator's URLs of queues, unlike AWS's, do not tell regions apart
}

data "aws_caller_identity" "me" {}

resource "aws_sqs_queue_policy" "work" {
  count     = 10
  queue_url = aws_sqs_queue.work[count.index].url
  policy = jsonencode({ Version = "2012-10-17", Statement = [{
    Effect = "Allow", Principal = { Service = "sns.amazonaws.com" }, Action = "sqs:SendMessage", Resource = aws_sqs_queue.work[count.index].arn
  }] })
}

resource "aws_sns_topic" "news" {
  count        = 10
  name         = "news-${count.index}"
  display_name = "News ${count.index}"
}

resource "aws_sns_topic" "west" {
  count    = 4
  provider = aws.west
  name     = "news-${count.index}"
}

resource "aws_sns_topic_subscription" "work" {
  count     = 10
  topic_arn = aws_sns_topic.news[count.index].arn
  protocol  = "sqs"
  endpoint  = aws_sqs_queue.work[count.index].arn
}

resource "aws_ssm_parameter" "config" {
  count = 61
  name  = "/shop/config/${count.index}"
  type  = "String"
  value = "value ${count.index}"
}

resource "aws_kms_key" "data" {
  count       = 4
  description = "Key ${count.index}"
}

resource "aws_kms_alias" "data" {
  count         = 4
  name          = "alias/data-${count.index}"
  target_key_id = aws_kms_key.data[count.index].key_id
}

resource "aws_secretsmanager_secret" "app" {
  count = 6
  name  = "app/${count.index}"
}

resource "aws_secretsmanager_secret_version" "app" {
  count         = 6
  secret_id     = aws_secretsmanager_secret.app[count.index].id
  secret_string = "a secret that nobody is to see ${count.index}"
}

# Data.

resource "aws_s3_bucket" "data" {
  count  = 10
  bucket = "data-${count.index}-${data.aws_caller_identity.me.account_id}"
}

resource "aws_s3_bucket_versioning" "data" {
  count  = 10
  bucket = aws_s3_bucket.data[count.index].id
  versioning_configuration { status = "Enabled" }
}

resource "aws_s3_bucket_public_access_block" "data" {
  count                   = 10
  bucket                  = aws_s3_bucket.data[count.index].id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_server_side_encryption_configuration" "data" {
  count  = 5
  bucket = aws_s3_bucket.data[count.index].id
  rule {
    apply_server_side_encryption_by_default { sse_algorithm = "aws:kms" }
  }
}

resource "aws_s3_object" "data" {
  count   = 3
  bucket  = aws_s3_bucket.data[count.index].id
  key     = "hello.txt"
  content = "hello"
}

resource "aws_dynamodb_table" "orders" {
  count        = 6
  name         = "orders-${count.index}"
  billing_mode = "PAY_PER_REQUEST"
  hash_key     = "id"
  attribute {
    name = "id"
    type = "S"
  }
}

resource "aws_kinesis_stream" "events" {
  count       = 2
  name        = "events-${count.index}"
  shard_count = 1
}

resource "aws_efs_file_system" "shared" { creation_token = "shared" }

resource "aws_efs_mount_target" "shared" {
  count          = 2
  file_system_id = aws_efs_file_system.shared.id
  subnet_id      = aws_subnet.net[count.index * 3].id
}

resource "aws_db_subnet_group" "db" {
  name       = "db"
  subnet_ids = [aws_subnet.net[0].id, aws_subnet.net[3].id]
}

resource "aws_db_parameter_group" "db" {
  name   = "db"
  family = "postgres16"
}

resource "aws_db_instance" "db" {
  identifier           = "db"
  engine               = "postgres"
  engine_version       = "16.3"
  instance_class       = "db.t4g.micro"
  allocated_storage    = 20
  username             = "app"
  password             = "not to be seen by anybody"
  db_subnet_group_name = aws_db_subnet_group.db.name
  parameter_group_name = aws_db_parameter_group.db.name
  skip_final_snapshot  = true
}

# Names, logs, alarms, events.

resource "aws_route53_zone" "zone" {
  count = 3
  name  = "shop-${count.index}.test"
}

resource "aws_route53_record" "name" {
  count   = 24
  zone_id = aws_route53_zone.zone[count.index % 3].zone_id
  name    = "www${count.index}"
  type    = "A"
  ttl     = 300
  records = ["192.0.2.${count.index}"]
}

resource "aws_cloudwatch_log_group" "app" {
  count             = 20
  name              = "/app/${count.index}"
  retention_in_days = 30
}

resource "aws_cloudwatch_log_group" "west" {
  count    = 4
  provider = aws.west
  name     = "/west/${count.index}"
}

resource "aws_cloudwatch_metric_alarm" "work" {
  count               = 20
  alarm_name          = "work-${count.index}"
  comparison_operator = "GreaterThanThreshold"
  evaluation_periods  = 2
  metric_name         = "ApproximateNumberOfMessagesVisible"
  namespace           = "AWS/SQS"
  period              = 60
  statistic           = "Average"
  threshold           = 100
  dimensions          = { QueueName = aws_sqs_queue.work[count.index].name }
}

resource "aws_cloudwatch_event_rule" "nightly" {
  count               = 4
  name                = "nightly-${count.index}"
  schedule_expression = "rate(1 day)"
}

resource "aws_cloudwatch_event_target" "nightly" {
  count     = 4
  rule      = aws_cloudwatch_event_rule.nightly[count.index].name
  target_id = "queue"
  arn       = aws_sqs_queue.work[count.index].arn
}

# Services.

resource "aws_ecr_repository" "app" {
  count = 4
  name  = "app-${count.index}"
}

resource "aws_ecs_cluster" "app" { name = "app" }

resource "aws_ecs_task_definition" "app" {
  count                    = 3
  family                   = "app-${count.index}"
  requires_compatibilities = ["FARGATE"]
  network_mode             = "awsvpc"
  cpu                      = 256
  memory                   = 512
  container_definitions    = jsonencode([{ name = "web", image = "nginx:1", essential = true, portMappings = [{ containerPort = 80 }] }])
}

resource "aws_ecs_service" "app" {
  count           = 3
  name            = "app-${count.index}"
  cluster         = aws_ecs_cluster.app.id
  task_definition = aws_ecs_task_definition.app[count.index].arn
  desired_count   = 0
  launch_type     = "FARGATE"
  network_configuration { subnets = [aws_subnet.net[0].id] }
}

resource "aws_appautoscaling_target" "app" {
  count              = 2
  service_namespace  = "ecs"
  scalable_dimension = "ecs:service:DesiredCount"
  resource_id        = "service/${aws_ecs_cluster.app.name}/${aws_ecs_service.app[count.index].name}"
  min_capacity       = 0
  max_capacity       = 4
}

resource "aws_appautoscaling_policy" "app" {
  count              = 2
  name               = "cpu"
  policy_type        = "TargetTrackingScaling"
  service_namespace  = "ecs"
  scalable_dimension = "ecs:service:DesiredCount"
  resource_id        = aws_appautoscaling_target.app[count.index].resource_id
  target_tracking_scaling_policy_configuration {
    target_value = 60
    predefined_metric_specification { predefined_metric_type = "ECSServiceAverageCPUUtilization" }
  }
}

resource "aws_lb" "web" {
  name            = "web"
  subnets         = [aws_subnet.net[0].id, aws_subnet.net[3].id]
  security_groups = [aws_security_group.app[0].id]
}

resource "aws_lb_target_group" "web" {
  count       = 2
  name        = "web-${count.index}"
  port        = 80
  protocol    = "HTTP"
  target_type = "ip"
  vpc_id      = aws_vpc.net[0].id
}

resource "aws_lb_listener" "web" {
  load_balancer_arn = aws_lb.web.arn
  port              = 80
  default_action {
    type             = "forward"
    target_group_arn = aws_lb_target_group.web[0].arn
  }
}

resource "aws_lb_listener_rule" "web" {
  listener_arn = aws_lb_listener.web.arn
  action {
    type             = "forward"
    target_group_arn = aws_lb_target_group.web[1].arn
  }
  condition {
    path_pattern { values = ["/api/*"] }
  }
}

resource "aws_acm_certificate" "web" {
  domain_name       = "www.shop-0.test"
  validation_method = "DNS"
}
