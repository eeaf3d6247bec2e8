# three_tier.sql in Terraform's language.
resource "aws_vpc" "shop" {
  cidr_block           = "10.60.0.0/16"
  enable_dns_hostnames = true
  tags                 = { Name = "shop" }
}

resource "aws_subnet" "public" {
  for_each = {
    a = "10.60.0.0/24"
    b = "10.60.1.0/24"
  }
  vpc_id            = aws_vpc.shop.id
  cidr_block        = each.value
  availability_zone = "us-east-1${each.key}"
  tags              = { Name = "shop", tier = "public" }
}

resource "aws_subnet" "private" {
  for_each = {
    a = "10.60.10.0/24"
    b = "10.60.11.0/24"
  }
  vpc_id            = aws_vpc.shop.id
  cidr_block        = each.value
  availability_zone = "us-east-1${each.key}"
  tags              = { Name = "shop", tier = "private" }
}

resource "aws_internet_gateway" "shop" {
  vpc_id = aws_vpc.shop.id
  tags   = { Name = "shop" }
}

resource "aws_eip" "shop" {
  domain = "vpc"
  tags   = { Name = "shop" }
}

resource "aws_nat_gateway" "shop" {
  allocation_id = aws_eip.shop.id
  subnet_id     = aws_subnet.public["a"].id
  tags          = { Name = "shop" }
  depends_on    = [aws_internet_gateway.shop]
}

resource "aws_route_table" "public" {
  vpc_id = aws_vpc.shop.id
  route {
    cidr_block = "0.0.0.0/0"
    gateway_id = aws_internet_gateway.shop.id
  }
  tags = { Name = "shop", tier = "public" }
}

resource "aws_route_table" "private" {
  vpc_id = aws_vpc.shop.id
  route {
    cidr_block     = "0.0.0.0/0"
    nat_gateway_id = aws_nat_gateway.shop.id
  }
  tags = { Name = "shop", tier = "private" }
}

resource "aws_route_table_association" "public" {
  for_each       = aws_subnet.public
  subnet_id      = each.value.id
  route_table_id = aws_route_table.public.id
}

resource "aws_route_table_association" "private" {
  for_each       = aws_subnet.private
  subnet_id      = each.value.id
  route_table_id = aws_route_table.private.id
}

resource "aws_security_group" "tier" {
  for_each    = toset(["front", "tasks", "data"])
  name        = "shop-${each.key}"
  description = "shop: ${each.key}"
  vpc_id      = aws_vpc.shop.id
}

resource "aws_vpc_security_group_egress_rule" "tier" {
  for_each          = aws_security_group.tier
  security_group_id = each.value.id
  ip_protocol       = "-1"
  cidr_ipv4         = "0.0.0.0/0"
}

resource "aws_vpc_security_group_ingress_rule" "front" {
  security_group_id = aws_security_group.tier["front"].id
  ip_protocol       = "tcp"
  from_port         = 80
  to_port           = 80
  cidr_ipv4         = "0.0.0.0/0"
}

resource "aws_vpc_security_group_ingress_rule" "tasks" {
  security_group_id            = aws_security_group.tier["tasks"].id
  ip_protocol                  = "tcp"
  from_port                    = 8080
  to_port                      = 8080
  referenced_security_group_id = aws_security_group.tier["front"].id
}

resource "aws_vpc_security_group_ingress_rule" "data" {
  security_group_id            = aws_security_group.tier["data"].id
  ip_protocol                  = "tcp"
  from_port                    = 5432
  to_port                      = 5432
  referenced_security_group_id = aws_security_group.tier["tasks"].id
}

resource "aws_db_subnet_group" "shop" {
  name        = "shop"
  description = "Private subnets"
  subnet_ids  = [for s in aws_subnet.private : s.id]
}

resource "aws_db_instance" "shop" {
  identifier                  = "shop"
  engine                      = "postgres"
  instance_class              = "db.t4g.small"
  allocated_storage           = 20
  db_name                     = "shop"
  username                    = "shop"
  manage_master_user_password = true
  storage_encrypted           = true
  multi_az                    = true
  backup_retention_period     = 7
  db_subnet_group_name        = aws_db_subnet_group.shop.name
  vpc_security_group_ids      = [aws_security_group.tier["data"].id]
  skip_final_snapshot         = true
}

resource "aws_lb_target_group" "shop" {
  name        = "shop"
  target_type = "ip"
  protocol    = "HTTP"
  port        = 8080
  vpc_id      = aws_vpc.shop.id
  health_check {
    path = "/health"
  }
}

resource "aws_lb" "shop" {
  name            = "shop"
  subnets         = [for s in aws_subnet.public : s.id]
  security_groups = [aws_security_group.tier["front"].id]
}

resource "aws_lb_listener" "shop" {
  load_balancer_arn = aws_lb.shop.arn
  port              = 80
  protocol          = "HTTP"
  default_action {
    type             = "forward"
    target_group_arn = aws_lb_target_group.shop.arn
  }
}

resource "aws_cloudwatch_log_group" "shop" {
  name              = "/shop/tasks"
  retention_in_days = 30
}

resource "aws_iam_role" "execution" {
  name = "shop-execution"
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "ecs-tasks.amazonaws.com" }
      Action    = "sts:AssumeRole"
    }]
  })
}

resource "aws_iam_role_policy_attachment" "execution" {
  role       = aws_iam_role.execution.name
  policy_arn = "arn:aws:iam::aws:policy/service-role/AmazonECSTaskExecutionRolePolicy"
}

resource "aws_ecs_cluster" "shop" {
  name = "shop"
}

resource "aws_ecs_task_definition" "shop" {
  family                   = "shop"
  cpu                      = 512
  memory                   = 1024
  network_mode             = "awsvpc"
  requires_compatibilities = ["FARGATE"]
  execution_role_arn       = aws_iam_role.execution.arn
  container_definitions = jsonencode([{
    name         = "web"
    image        = "nginx:1"
    essential    = true
    portMappings = [{ containerPort = 8080, protocol = "tcp" }]
    logConfiguration = {
      logDriver = "awslogs"
      options = {
        awslogs-group         = aws_cloudwatch_log_group.shop.name
        awslogs-region        = "us-east-1"
        awslogs-stream-prefix = "web"
      }
    }
  }])
}

resource "aws_ecs_service" "shop" {
  name            = "shop"
  cluster         = aws_ecs_cluster.shop.id
  task_definition = aws_ecs_task_definition.shop.arn
  launch_type     = "FARGATE"
  desired_count   = 2
  network_configuration {
    subnets         = [for s in aws_subnet.private : s.id]
    security_groups = [aws_security_group.tier["tasks"].id]
  }
  load_balancer {
    target_group_arn = aws_lb_target_group.shop.arn
    container_name   = "web"
    container_port   = 8080
  }
  depends_on = [aws_lb_listener.shop, aws_iam_role_policy_attachment.execution]
}
