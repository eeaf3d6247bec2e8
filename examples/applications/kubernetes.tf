# kubernetes.sql in Terraform's language.
resource "aws_vpc" "kube" {
  cidr_block           = "10.61.0.0/16"
  enable_dns_hostnames = true
  tags                 = { Name = "kube" }
}

resource "aws_subnet" "kube" {
  for_each = {
    a = "10.61.0.0/20"
    b = "10.61.16.0/20"
    c = "10.61.32.0/20"
  }
  vpc_id                  = aws_vpc.kube.id
  cidr_block              = each.value
  availability_zone       = "us-east-1${each.key}"
  map_public_ip_on_launch = true
  tags = {
    Name                     = "kube"
    "kubernetes.io/role/elb" = "1"
  }
}

resource "aws_internet_gateway" "kube" {
  vpc_id = aws_vpc.kube.id
  tags   = { Name = "kube" }
}

resource "aws_route_table" "kube" {
  vpc_id = aws_vpc.kube.id
  route {
    cidr_block = "0.0.0.0/0"
    gateway_id = aws_internet_gateway.kube.id
  }
  tags = { Name = "kube" }
}

resource "aws_route_table_association" "kube" {
  for_each       = aws_subnet.kube
  subnet_id      = each.value.id
  route_table_id = aws_route_table.kube.id
}

resource "aws_security_group" "api" {
  name        = "kube-api"
  description = "Who reaches the API"
  vpc_id      = aws_vpc.kube.id
}

resource "aws_vpc_security_group_ingress_rule" "api" {
  security_group_id = aws_security_group.api.id
  ip_protocol       = "tcp"
  from_port         = 443
  to_port           = 443
  cidr_ipv4         = aws_vpc.kube.cidr_block
}

resource "aws_iam_role" "kube" {
  name = "kube"
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "eks.amazonaws.com" }
      Action    = "sts:AssumeRole"
    }]
  })
}

resource "aws_iam_role_policy_attachment" "kube" {
  role       = aws_iam_role.kube.name
  policy_arn = "arn:aws:iam::aws:policy/AmazonEKSClusterPolicy"
}

resource "aws_iam_role" "nodes" {
  name = "kube-nodes"
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "ec2.amazonaws.com" }
      Action    = "sts:AssumeRole"
    }]
  })
}

resource "aws_iam_role_policy_attachment" "nodes" {
  for_each   = toset(["AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryReadOnly"])
  role       = aws_iam_role.nodes.name
  policy_arn = "arn:aws:iam::aws:policy/${each.key}"
}

resource "aws_eks_cluster" "kube" {
  name                      = "kube"
  role_arn                  = aws_iam_role.kube.arn
  enabled_cluster_log_types = ["api", "audit"]
  vpc_config {
    subnet_ids              = [for s in aws_subnet.kube : s.id]
    security_group_ids      = [aws_security_group.api.id]
    endpoint_private_access = true
  }
  depends_on = [aws_iam_role_policy_attachment.kube]
}

resource "aws_eks_node_group" "web" {
  cluster_name    = aws_eks_cluster.kube.name
  node_group_name = "web"
  node_role_arn   = aws_iam_role.nodes.arn
  subnet_ids      = [for s in aws_subnet.kube : s.id]
  instance_types  = ["t3.large"]
  labels          = { kind = "web" }
  scaling_config {
    min_size     = 2
    max_size     = 6
    desired_size = 2
  }
  depends_on = [aws_iam_role_policy_attachment.nodes]
}
